// gradus_accuracy FOLDER: writes inputs, results and exact definitions for accuracy.py; prints the level.
#include <fstream>
#include <iostream>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/reference/products.hpp"
#include "gradus/autograd/reference/table.hpp"

using namespace gradus;
using Real = long double;
using Exact = reference::Scalar<Real>;

namespace {

std::string folder;

template <class T>
void write(const std::string& name, const T* first, int64_t n) {
  std::ofstream(folder + "/" + name, std::ios::binary)
      .write(reinterpret_cast<const char*>(first), n * static_cast<int64_t>(sizeof(T)));
}

void write(const std::string& name, const Tensor& x) {
  const Tensor packed = x.contiguous();
  dispatch_any(x.dtype(), [&]<class T>() { write(name, packed.data<T>(), x.numel()); });
}

reference::Array<Real> exact(const Tensor& x) {
  const reference::Array<double> from = reference::array_of<double>(x);
  reference::Array<Real> to(from.shape);
  for (int64_t i = 0; i < to.size(); ++i) to[i] = from[i];
  return to;
}

void save(const std::string& op, const std::vector<Tensor>& inputs, const Tensor& y,
          const reference::Array<Real>& truth) {
  const std::string name = concat(op, ".", gradus::name(y.dtype()));
  for (size_t i = 0; i < inputs.size(); ++i) write(concat(name, ".", i), inputs[i]);
  write(name + ".gradus", y);
  write(name + ".true", truth.data.data(), truth.size());
}

void save_all(DType dtype) {
  Generator g(1);
  const auto by_element = [&](const std::string& op, double reach, Tensor (*f)(const Tensor&),
                              Real (*definition)(Real)) {
    const Tensor x = uniform({1, 200'000}, -reach, reach, g).to(dtype);
    save(op, {x}, f(x), each(exact(x), definition));
  };
  by_element("exp", 80, exp, Exact::exponential);
  by_element("tanh", 4, tanh, Exact::tangent);
  by_element("erf", 4, erf, Exact::error);
  by_element(
      "gelu", 6, [](const Tensor& x) { return gelu(x); }, Exact::gelu);

  const Tensor x = (randn({100, 1000}, g, DType::float64) * 3.0).to(dtype),
               target = randint(0, 1000, {100}, g);
  save("softmax", {x}, softmax(x, 1), along(exact(x), 1, reference::softmax<Real>));
  save("logsumexp", {x}, logsumexp(x, {1}), reduce(exact(x), {1}, reference::logsumexp<Real>));
  save("layer_norm", {x}, layer_norm(x, {1000}), layer_norm(exact(x), {}, {}, 1000, 1e-5));
  save("cross_entropy", {x, target}, cross_entropy(x, target, -100, Reduction::none),
       cross_entropy(exact(x), reference::array_of<int64_t>(target), -100));
  const Tensor q = randn({2, 4, 64, 32}, g).to(dtype), k = randn({2, 4, 64, 32}, g).to(dtype),
               v = randn({2, 4, 64, 32}, g).to(dtype);
  save("attention", {q, k, v}, scaled_dot_product_attention(q, k, v),
       scaled_dot_product_attention(exact(q), exact(k), exact(v), {1 / std::sqrt(32.0), {}, {}}));
}

void save_sum(const std::string& op, int64_t n, DType dtype) {
  Generator g(2);
  const Tensor x = rand({n}, g, dtype);
  reference::Array<Real> total({1});
  for (int64_t i = 0; i < n; i += 1'000'000)
    total[0] += reference::sum(exact(x.slice(0, i, i + 1'000'000)).data);
  save(op, {x}, sum(x).reshape({1}), total);
}

}  // namespace

int main(int, char** arguments) {
  folder = arguments[1];
  for (const DType dtype : {DType::float32, DType::float64}) {
    save_all(dtype);
    save_sum("sum of 10^6", 1'000'000, dtype);
  }
  save_sum("sum of 10^8", 100'000'000, DType::float32);
  std::cout << kernels::isa_name(kernels::isa_in_use()) << "\n";
}

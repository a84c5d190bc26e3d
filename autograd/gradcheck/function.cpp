#include "gradus/autograd/gradcheck/function.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::gradchecking {

constexpr double kMostRough = 1e-5;    // relative, what float32 may change by rounding
constexpr double kLeastRough = 1e-37;  // what float32 represents
constexpr int kMoved = 4;              // places at which the rounding is looked at

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

Numbers flatten(const std::vector<Tensor>& tensors) {
  Numbers all;
  for (const Tensor& t : tensors) {
    const Numbers one = t.to_vector<double>();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::vector<Tensor> unflatten(const Numbers& all, const std::vector<Tensor>& like) {
  std::vector<Tensor> tensors;
  auto from = all.begin();
  for (const Tensor& t : like) {
    if (t.numel() > all.end() - from)
      fail("gradcheck", "the result must have the same shape in each call, got ", all.size(),
           " elements and then more.");
    tensors.push_back(tensor(Numbers(from, from + t.numel()), t.shape()));
    from += t.numel();
  }
  return tensors;
}

bool agree(const Numbers& a, const Numbers& b, double least, double tolerance) {
  double size = least;
  for (const double e : a)
    if (std::isfinite(e)) size = std::max(size, std::abs(e));
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [=](double x, double y) {
    return std::abs(x - y) <= tolerance * size || (std::isnan(x) && std::isnan(y)) || x == y;
  });
}

std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& cotangents, bool create_graph) {
  std::vector<Tensor> result = autograd::defined_gradients(outputs, inputs, cotangents, create_graph);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!result[i].defined()) result[i] = zeros(inputs[i].shape(), inputs[i].dtype());
  return result;
}

Function gradient_of(const Function& f, size_t input_count, const std::vector<size_t>& checked) {
  return [=](const std::vector<Tensor>& arguments) {
    const auto middle = arguments.begin() + static_cast<std::ptrdiff_t>(input_count);
    std::vector<Tensor> inputs(arguments.begin(), middle), wanted;
    const bool recorded = std::ranges::any_of(arguments, &Tensor::requires_grad);
    for (const size_t i : checked) {
      if (!inputs[i].requires_grad()) inputs[i] = inputs[i].detach().requires_grad_();
      wanted.push_back(inputs[i]);
    }
    return gradients(f(inputs), wanted, {middle, arguments.end()}, recorded);
  };
}

Subject::Subject(int order_, Function f_, const std::vector<Tensor>& inputs_, std::vector<size_t> checked_,
                 double scale_)
    : order(order_), f(std::move(f_)), scale(scale_), checked(std::move(checked_)) {
  for (const Tensor& x : inputs_) inputs.push_back(x.detach());
  leaves = inputs;
  for (const size_t i : checked) wanted.push_back(leaves[i] = leaves[i].detach().requires_grad_());
  outputs = f(leaves);
}

std::vector<Tensor> Subject::analytic(const Numbers& cotangent) const {
  return gradients(outputs, wanted, unflatten(cotangent, outputs), /*create_graph=*/false);
}

Numbers Subject::rounding() const {
  return changes_in_float32([](const Subject& there) { return there.outputs; }, flatten(outputs).size(),
                            std::min(scale, 1.0), /*zeros_too=*/true);
}

Numbers Subject::rounding(const Numbers& cotangent, bool create_graph) const {
  const auto by_rules = [&](const Subject& there) {
    std::vector<Tensor> v = unflatten(cotangent, outputs);
    for (Tensor& e : v) e = e.to(there.outputs[0].dtype());
    return gradients(there.outputs, there.wanted, v, create_graph);
  };
  return changes_in_float32(by_rules, flatten(wanted).size(),
                            std::min(scale, 1.0) * std::sqrt(dot(cotangent, cotangent)), /*zeros_too=*/false);
}

Numbers Subject::changes_in_float32(const std::function<std::vector<Tensor>(const Subject&)>& of,
                                    size_t count, double size, bool zeros_too) const {
  Generator generator(2);
  Numbers most(count, 0.0);
  try {
    for (int i = 0; i < kMoved; ++i) {
      std::vector<Tensor> rough = inputs, fine;
      for (const size_t k : checked)
        rough[k] = rough[k] * (1 + 1e-3 * rand(rough[k].shape(), generator, DType::float64));
      for (Tensor& x : rough) {
        if (x.dtype() == DType::float64) x = x.to(DType::float32);
        fine.push_back(x.dtype() == DType::float32 ? x.to(DType::float64) : x);
      }
      std::vector<Tensor> results = of(at(rough));
      for (Tensor& y : results) y = y.detach().to(DType::float64);
      const Numbers a = flatten(results), b = flatten(of(at(fine)));
      for (size_t j = 0; j < count; ++j) {
        const double change = std::abs(a[j] - b[j]), largest = std::max(std::abs(a[j]), std::abs(b[j]));
        if (!(change <= kMostRough * (std::abs(b[j]) + std::max(scale, 1.0) * size)))
          continue;  // not by rounding
        const bool is_lost =
            largest == 0 ? zeros_too : largest > kLeastRough && change > kRough * std::abs(b[j]);
        most[j] = std::max({most[j], change * 0x1p-29, is_lost ? kRounding * size : 0});
      }
    }
  } catch (const std::exception&) {  // f is for float64 only
    most.assign(count, 0.0);
  }
  return most;
}

Numbers Subject::random_cotangent(Generator& generator) const {
  Numbers v(flatten(outputs).size());
  for (double& e : v) e = generator.normal();
  return v;
}

}  // namespace gradus::gradchecking

#include "gradus/autograd/reference/table.hpp"

#include <type_traits>

#include "gradus/autograd/reference/products.hpp"
#include "gradus/autograd/reference/shapes.hpp"
#include "gradus/autograd/reference/windows.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::reference {
namespace {

template <class T>
Array<T> attention(const Call<T>& c) {
  const Attention how{c.r(0), c.index(1), c.numbers(2)};
  if (c.inputs.size() == 1) return scaled_dot_product_attention(c.x(0), c.n(3), how);
  return scaled_dot_product_attention(c.x(0), c.x(1), c.x(2), how);
}

// A weight that is only stored is an attribute.
template <class T>
Array<T> any_linear(const Call<T>& c) {
  if (c.inputs.size() == 3) return linear(c.x(0), c.x(1), c.x(2));
  return linear(c.x(0), array_of<T>(std::get<Tensor>(c.attributes->at(0))), c.x(1));
}

// linear() of an activation.
template <class T>
Array<T> activated(const Call<T>& c) {
  if (c.n(1)) return linear(each(c.x(0), c.x(1), Scalar<T>::swiglu), c.x(2), c.x(3));
  return linear(each(c.x(0), c.n(0) ? Scalar<T>::gelu_tanh : Scalar<T>::gelu), c.x(1), c.x(2));
}

template <class T>
Array<T> clamped(const Call<T>& c) {
  if (c.inputs.size() == 3) return clamp(c.x(0), c.x(1), c.x(2));
  return each(c.x(0), [&](T x) { return Scalar<T>::clamp(x, c.r(0), c.r(1)); });
}

template <class T>
struct Entry {
  std::string_view op;
  Definition<T> definition;
};

#define GRADUS_OPERATION(name, python, ...)                                                        \
  Entry<T>{#name, [](const Call<T>& c) {                                                           \
             static_assert(sizeof(#__VA_ARGS__) > 1, "the operation " #name " has no definition"); \
             return __VA_ARGS__;                                                                   \
           }},
#define GRADUS_CUSTOM(name, ...) GRADUS_OPERATION(name, , __VA_ARGS__)
template <class T>
const Entry<T> kTable[] = {
#include "gradus/autograd/graph/operations.def"
};

}  // namespace

template <class T>
Definition<T> find(std::string_view op) {
  for (const Entry<T>& entry : kTable<T>)
    if (entry.op == op) return entry.definition;
  return nullptr;
}

template <class T>
Array<T> array_of(const Tensor& x) {
  if (!x.defined()) return {};
  Array<T> a(sizes_of(x.shape()));
  using Number = std::conditional_t<std::is_same_v<T, int64_t>, int64_t, double>;
  const Tensor packed = raw::contiguous(raw::converted(x.detach(), dtype_of<Number>));
  for (int64_t i = 0; i < a.size(); ++i) a[i] = T(packed.data<Number>()[i]);
  return a;
}

template Array<int64_t> array_of(const Tensor& x);
template Array<double> array_of(const Tensor& x);
template Array<Dual<double>> array_of(const Tensor& x);
template Array<Dual<Dual<double>>> array_of(const Tensor& x);
template Definition<double> find(std::string_view op);
template Definition<Dual<double>> find(std::string_view op);
template Definition<Dual<Dual<double>>> find(std::string_view op);

}  // namespace gradus::reference

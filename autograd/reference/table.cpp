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

#define GRADUS_ROW(name, value)                  \
  Entry<T> {                                     \
    name, [](const Call<T>& c) { return value; } \
  }
template <class T>
const Entry<T> kTable[] = {
    GRADUS_ROW("add", each(c.x(0), c.x(1), Scalar<T>::add)),
    GRADUS_ROW("sub", each(c.x(0), c.x(1), Scalar<T>::sub)),
    GRADUS_ROW("mul", each(c.x(0), c.x(1), Scalar<T>::mul)),
    GRADUS_ROW("div", each(c.x(0), c.x(1), Scalar<T>::div)),
    GRADUS_ROW("maximum", each(c.x(0), c.x(1), Scalar<T>::maximum)),
    GRADUS_ROW("minimum", each(c.x(0), c.x(1), Scalar<T>::minimum)),
    GRADUS_ROW("swiglu", each(c.x(0), c.x(1), Scalar<T>::swiglu)),
    GRADUS_ROW("pow", each(c.x(0), c.x(1), Scalar<T>::power)),
    GRADUS_ROW("neg", each(c.x(0), Scalar<T>::neg)),
    GRADUS_ROW("abs", each(c.x(0), Scalar<T>::absolute)),
    GRADUS_ROW("exp", each(c.x(0), Scalar<T>::exponential)),
    GRADUS_ROW("log", each(c.x(0), Scalar<T>::logarithm)),
    GRADUS_ROW("sqrt", each(c.x(0), Scalar<T>::root)),
    GRADUS_ROW("rsqrt", each(c.x(0), Scalar<T>::rsqrt)),
    GRADUS_ROW("sin", each(c.x(0), Scalar<T>::sine)),
    GRADUS_ROW("cos", each(c.x(0), Scalar<T>::cosine)),
    GRADUS_ROW("tanh", each(c.x(0), Scalar<T>::tangent)),
    GRADUS_ROW("erf", each(c.x(0), Scalar<T>::error)),
    GRADUS_ROW("sigmoid", each(c.x(0), Scalar<T>::sigmoid)),
    GRADUS_ROW("relu", each(c.x(0), Scalar<T>::relu)),
    GRADUS_ROW("silu", each(c.x(0), Scalar<T>::silu)),
    GRADUS_ROW("mish", each(c.x(0), Scalar<T>::mish)),
    GRADUS_ROW("gelu", each(c.x(0), c.n(0) ? Scalar<T>::gelu_tanh : Scalar<T>::gelu)),
    GRADUS_ROW("softplus", each(c.x(0), [&](T x) { return Scalar<T>::softplus(x, c.r(0), c.r(1)); })),
    GRADUS_ROW("clamp", clamped(c)),
    GRADUS_ROW("where", where(c.index(0), c.x(0), c.x(1))),
    GRADUS_ROW("masked_fill", masked_fill(c.x(0), c.index(0), c.r(1))),
    GRADUS_ROW("dropout", dropout(c.x(0), c.numbers(0))),
    GRADUS_ROW("sum", reduce(c.x(0), c.dims(0), sum<T>)),
    GRADUS_ROW("amax", reduce(c.x(0), c.dims(0), amax<T>)),
    GRADUS_ROW("amin", reduce(c.x(0), c.dims(0), amin<T>)),
    GRADUS_ROW("logsumexp", reduce(c.x(0), c.dims(0), logsumexp<T>)),
    GRADUS_ROW("var", reduce(c.x(0), c.dims(0), [&](const Row<T>& x) { return var(x, c.n(1)); })),
    GRADUS_ROW("norm", reduce(c.x(0), c.dims(0), [&](const Row<T>& x) { return norm(x, c.r(1)); })),
    GRADUS_ROW("softmax", along(c.x(0), c.n(0), softmax<T>)),
    GRADUS_ROW("log_softmax", along(c.x(0), c.n(0), log_softmax<T>)),
    GRADUS_ROW("cumsum", along(c.x(0), c.n(0), [&](const Row<T>& x) { return cumsum(x, c.n(1) != 0); })),
    GRADUS_ROW("linear_recurrence", linear_recurrence(c.x(0), c.x(1), c.n(0), c.n(1) != 0)),
    GRADUS_ROW("layer_norm", layer_norm(c.x(0), c.x(1), c.x(2), c.n(0), c.r(1))),
    GRADUS_ROW("rms_norm", rms_norm(c.x(0), c.x(1), c.n(0), c.r(1))),
    GRADUS_ROW("cross_entropy", cross_entropy(c.x(0), c.index(0), c.n(1))),
    GRADUS_ROW("matmul", matmul(c.x(0), c.x(1))),
    GRADUS_ROW("linear", any_linear(c)),
    GRADUS_ROW("gelu_linear", activated(c)),
    GRADUS_ROW("swiglu_linear", activated(c)),
    GRADUS_ROW("scaled_dot_product_attention", attention(c)),
    GRADUS_ROW("rotary_embedding", rotary_embedding(c.x(0), c.n(0), c.numbers(1), c.r(2))),
    GRADUS_ROW("unfold", unfold(c.x(0), Axis(c.dims(0)), Axis(c.dims(1)))),
    GRADUS_ROW("fold", fold(c.x(0), Axis(c.dims(0)), Axis(c.dims(1)))),
    GRADUS_ROW("max_pool2d", max_pool2d(c.x(0), Axis(c.dims(0)), Axis(c.dims(1)))),
    GRADUS_ROW("conv2d", conv2d(c.x(0), c.x(1), c.x(2), Axis(c.dims(0)), Axis(c.dims(1)), c.n(2))),
    GRADUS_ROW("reshape", reshape(c.x(0), c.shape)),
    GRADUS_ROW("squeeze", reshape(c.x(0), c.shape)),
    GRADUS_ROW("unsqueeze", reshape(c.x(0), c.shape)),
    GRADUS_ROW("contiguous", reshape(c.x(0), c.shape)),
    GRADUS_ROW("to", reshape(c.x(0), c.shape)),
    GRADUS_ROW("alias", reshape(c.x(0), c.shape)),
    GRADUS_ROW("permute", permute(c.x(0), c.dims(0))),
    GRADUS_ROW("transpose", permute(c.x(0), c.dims(0))),
    GRADUS_ROW("expand", expand(c.x(0), c.shape)),
    GRADUS_ROW("slice", slice(c.x(0), c.n(0), c.n(1), c.n(2), c.shape.at(static_cast<size_t>(c.n(0))))),
    GRADUS_ROW("select", slice(c.x(0), c.n(0), c.n(1), 1, 1)),
    GRADUS_ROW("pad", pad(c.x(0), c.n(0), c.n(1), c.n(2), c.shape.at(static_cast<size_t>(c.n(0))))),
    GRADUS_ROW("cat", cat(c.inputs, c.n(0), c.shape)),
    GRADUS_ROW("stack", stack(c.inputs, c.n(0), c.shape)),
    GRADUS_ROW("tril", triangle(c.x(0), true, c.n(0))),
    GRADUS_ROW("triu", triangle(c.x(0), false, c.n(0))),
    GRADUS_ROW("index_select", index_select(c.x(0), c.n(0), c.index(1))),
    GRADUS_ROW("index_add", index_add(c.x(0), c.n(0), c.index(1), c.x(1))),
    GRADUS_ROW("gather", gather(c.x(0), c.n(0), c.index(1))),
    GRADUS_ROW("scatter_add", scatter_add(c.x(0), c.n(0), c.index(1), c.x(1))),
};
#undef GRADUS_ROW

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

#include "gradus/autograd/reference/table.hpp"

#include <iterator>
#include <type_traits>

#include "gradus/autograd/reference/products.hpp"
#include "gradus/autograd/reference/shapes.hpp"
#include "gradus/autograd/reference/windows.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::reference {
namespace {

template <class T>
struct Entry {
  std::string_view op;
  Definition<T> definition;
};

// The attributes of a call.
template <class T>
int64_t whole(const Call<T>& c, size_t i) {
  return std::get<int64_t>(c.attributes->at(i));
}
template <class T>
double real(const Call<T>& c, size_t i) {
  return std::get<double>(c.attributes->at(i));
}
template <class T>
Sizes sizes(const Call<T>& c, size_t i) {
  return sizes_of(std::get<Shape>(c.attributes->at(i)));
}
template <class T>
Array<double> numbers(const Call<T>& c, size_t i) {
  return array_of<double>(std::get<Tensor>(c.attributes->at(i)));
}
template <class T>
Whole index(const Call<T>& c, size_t i) {
  return array_of<int64_t>(std::get<Tensor>(c.attributes->at(i)));
}

// A definition of one number, of two, and of a row that becomes one.
template <class T, T (*f)(T)>
Array<T> unary(const Call<T>& c) {
  return each(c.inputs.at(0), f);
}
template <class T, T (*f)(T, T)>
Array<T> binary(const Call<T>& c) {
  return each(c.inputs.at(0), c.inputs.at(1), f);
}
template <class T, T (*f)(const Row<T>&)>
Array<T> reduction(const Call<T>& c) {
  return reduce(c.inputs.at(0), sizes(c, 0), f);
}
template <class T, Row<T> (*f)(const Row<T>&)>
Array<T> rows(const Call<T>& c) {
  return along(c.inputs.at(0), whole(c, 0), f);
}
template <class T>
Array<T> same(const Call<T>& c) {
  return reshape(c.inputs.at(0), c.shape);
}
template <class T>
Array<T> permuted(const Call<T>& c) {
  return permute(c.inputs.at(0), sizes(c, 0));
}

template <class T>
Array<T> attention(const Call<T>& c) {
  const Attention how{real(c, 0), index(c, 1), numbers(c, 2)};
  if (c.inputs.size() == 1) return scaled_dot_product_attention(c.inputs.at(0), whole(c, 3), how);
  return scaled_dot_product_attention(c.inputs.at(0), c.inputs.at(1), c.inputs.at(2), how);
}

// A weight that is only stored is an attribute.
template <class T>
Array<T> any_linear(const Call<T>& c) {
  if (c.inputs.size() == 3) return linear(c.inputs.at(0), c.inputs.at(1), c.inputs.at(2));
  return linear(c.inputs.at(0), array_of<T>(std::get<Tensor>(c.attributes->at(0))), c.inputs.at(1));
}

// linear() of an activation.
template <class T>
Array<T> activated(const Call<T>& c) {
  const auto& x = c.inputs;
  if (whole(c, 1)) return linear(each(x.at(0), x.at(1), swiglu<T>), x.at(2), x.at(3));
  return linear(whole(c, 0) ? each(x.at(0), gelu_tanh<T>) : each(x.at(0), gelu<T>), x.at(1), x.at(2));
}

template <class T>
Array<T> clamped(const Call<T>& c) {
  if (c.inputs.size() == 3) return clamp(c.inputs.at(0), c.inputs.at(1), c.inputs.at(2));
  const T low(real(c, 0)), high(real(c, 1));
  return each(c.inputs.at(0), [&](T x) { return clamp(x, low, high); });
}

template <class T>
Array<T> any_gelu(const Call<T>& c) {
  return whole(c, 0) ? each(c.inputs.at(0), gelu_tanh<T>) : each(c.inputs.at(0), gelu<T>);
}

#define GRADUS_ROW(name, value)                  \
  Entry<T> {                                     \
    name, [](const Call<T>& c) { return value; } \
  }

template <class T>
const Entry<T>* numbers_begin(size_t& count) {
  static const Entry<T> kTable[] = {
      {"add", binary<T, add>},
      {"sub", binary<T, sub>},
      {"mul", binary<T, mul>},
      {"div", binary<T, div>},
      {"maximum", binary<T, maximum>},
      {"minimum", binary<T, minimum>},
      {"swiglu", binary<T, swiglu>},
      {"neg", unary<T, neg>},
      {"rsqrt", unary<T, rsqrt>},
      {"sigmoid", unary<T, sigmoid>},
      {"relu", unary<T, relu>},
      {"silu", unary<T, silu>},
      {"mish", unary<T, mish>},
      {"gelu", any_gelu},
      {"clamp", clamped},
      GRADUS_ROW("pow", each(c.inputs.at(0), c.inputs.at(1), [](T b, T e) { return pow(b, e); })),
      GRADUS_ROW("abs", each(c.inputs.at(0), [](T x) { return abs(x); })),
      GRADUS_ROW("exp", each(c.inputs.at(0), [](T x) { return exp(x); })),
      GRADUS_ROW("log", each(c.inputs.at(0), [](T x) { return log(x); })),
      GRADUS_ROW("sqrt", each(c.inputs.at(0), [](T x) { return sqrt(x); })),
      GRADUS_ROW("sin", each(c.inputs.at(0), [](T x) { return sin(x); })),
      GRADUS_ROW("cos", each(c.inputs.at(0), [](T x) { return cos(x); })),
      GRADUS_ROW("tanh", each(c.inputs.at(0), [](T x) { return tanh(x); })),
      GRADUS_ROW("erf", each(c.inputs.at(0), [](T x) { return erf(x); })),
      GRADUS_ROW("softplus", each(c.inputs.at(0), [&](T x) { return softplus(x, real(c, 0), real(c, 1)); })),
      GRADUS_ROW("where", where(index(c, 0), c.inputs.at(0), c.inputs.at(1))),
      GRADUS_ROW("masked_fill", masked_fill(c.inputs.at(0), index(c, 0), real(c, 1))),
      GRADUS_ROW("dropout", dropout(c.inputs.at(0), numbers(c, 0))),
  };
  count = std::size(kTable);
  return kTable;
}

template <class T>
const Entry<T>* rows_begin(size_t& count) {
  static const Entry<T> kTable[] = {
      {"sum", reduction<T, sum>},
      {"amax", reduction<T, amax>},
      {"amin", reduction<T, amin>},
      {"logsumexp", reduction<T, logsumexp>},
      {"softmax", rows<T, softmax>},
      {"log_softmax", rows<T, log_softmax>},
      {"scaled_dot_product_attention", attention},
      {"linear", any_linear},
      {"gelu_linear", activated},
      {"swiglu_linear", activated},
      GRADUS_ROW("var",
                 reduce(c.inputs.at(0), sizes(c, 0), [&](const Row<T>& x) { return var(x, whole(c, 1)); })),
      GRADUS_ROW("norm",
                 reduce(c.inputs.at(0), sizes(c, 0), [&](const Row<T>& x) { return norm(x, real(c, 1)); })),
      GRADUS_ROW("cumsum", along(c.inputs.at(0), whole(c, 0),
                                 [&](const Row<T>& x) { return cumsum(x, whole(c, 1) != 0); })),
      GRADUS_ROW("linear_recurrence",
                 linear_recurrence(c.inputs.at(0), c.inputs.at(1), whole(c, 0), whole(c, 1) != 0)),
      GRADUS_ROW("layer_norm",
                 layer_norm(c.inputs.at(0), c.inputs.at(1), c.inputs.at(2), whole(c, 0), real(c, 1))),
      GRADUS_ROW("rms_norm", rms_norm(c.inputs.at(0), c.inputs.at(1), whole(c, 0), real(c, 1))),
      GRADUS_ROW("cross_entropy", cross_entropy(c.inputs.at(0), index(c, 0), whole(c, 1))),
      GRADUS_ROW("matmul", matmul(c.inputs.at(0), c.inputs.at(1))),
      GRADUS_ROW("rotary_embedding",
                 rotary_embedding(c.inputs.at(0), whole(c, 0), numbers(c, 1), real(c, 2))),
      GRADUS_ROW("unfold", unfold(c.inputs.at(0), Axis(sizes(c, 0)), Axis(sizes(c, 1)))),
      GRADUS_ROW("fold", fold(c.inputs.at(0), Axis(sizes(c, 0)), Axis(sizes(c, 1)))),
      GRADUS_ROW("max_pool2d", max_pool2d(c.inputs.at(0), Axis(sizes(c, 0)), Axis(sizes(c, 1)))),
      GRADUS_ROW("conv2d", conv2d(c.inputs.at(0), c.inputs.at(1), c.inputs.at(2), Axis(sizes(c, 0)),
                                  Axis(sizes(c, 1)), whole(c, 2))),
  };
  count = std::size(kTable);
  return kTable;
}

template <class T>
const Entry<T>* shapes_begin(size_t& count) {
  static const Entry<T> kTable[] = {
      {"reshape", same},
      {"squeeze", same},
      {"unsqueeze", same},
      {"contiguous", same},
      {"to", same},
      {"alias", same},
      {"permute", permuted},
      {"transpose", permuted},
      GRADUS_ROW("expand", expand(c.inputs.at(0), c.shape)),
      GRADUS_ROW("slice", slice(c.inputs.at(0), whole(c, 0), whole(c, 1), whole(c, 2),
                                c.shape[static_cast<size_t>(whole(c, 0))])),
      GRADUS_ROW("select", slice(c.inputs.at(0), whole(c, 0), whole(c, 1), 1, 1)),
      GRADUS_ROW("pad", pad(c.inputs.at(0), whole(c, 0), whole(c, 1), whole(c, 2),
                            c.shape[static_cast<size_t>(whole(c, 0))])),
      GRADUS_ROW("cat", cat(c.inputs, whole(c, 0), c.shape)),
      GRADUS_ROW("stack", stack(c.inputs, whole(c, 0), c.shape)),
      GRADUS_ROW("tril", triangle(c.inputs.at(0), true, whole(c, 0))),
      GRADUS_ROW("triu", triangle(c.inputs.at(0), false, whole(c, 0))),
      GRADUS_ROW("index_select", index_select(c.inputs.at(0), whole(c, 0), index(c, 1))),
      GRADUS_ROW("index_add", index_add(c.inputs.at(0), whole(c, 0), index(c, 1), c.inputs.at(1))),
      GRADUS_ROW("gather", gather(c.inputs.at(0), whole(c, 0), index(c, 1))),
      GRADUS_ROW("scatter_add", scatter_add(c.inputs.at(0), whole(c, 0), index(c, 1), c.inputs.at(1))),
  };
  count = std::size(kTable);
  return kTable;
}

#undef GRADUS_ROW

}  // namespace

template <class T>
Definition<T> find(std::string_view op) {
  for (const auto table : {numbers_begin<T>, rows_begin<T>, shapes_begin<T>}) {
    size_t n = 0;
    const Entry<T>* const first = table(n);
    for (size_t i = 0; i < n; ++i)
      if (first[i].op == op) return first[i].definition;
  }
  return nullptr;
}

template <class T>
Array<T> array_of(const Tensor& x) {
  if (!x.defined()) return {};
  Array<T> a(sizes_of(x.shape()));
  const autograd::Tracing off(nullptr);
  constexpr bool kWhole = std::is_same_v<T, int64_t>;
  using Number = std::conditional_t<kWhole, int64_t, double>;
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

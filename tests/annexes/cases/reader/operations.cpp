#include "annexes/cases/reader/operations.hpp"

#include <cmath>

namespace gradus::cases {
namespace {

using autograd::Dims;
using autograd::Padding;
using autograd::PerDim;
using testing::kInf;
using Binary = Tensor (*)(const Tensor&, const Tensor&);

// -- operations that differ from the functions of gradus

// PyTorch's common type of two operands: of two floats, one with dimensions takes precedence over a scalar.
DType common(const Tensor& x, const Tensor& y) {
  const DType a = x.dtype(), b = y.dtype();
  if (is_floating(a) && is_floating(b) && (x.dim() == 0) != (y.dim() == 0)) return x.dim() == 0 ? b : a;
  for (const DType wide : {DType::float64, DType::float32, DType::int64})
    if (a == wide || b == wide) return wide;
  return DType::boolean;
}

Tensor mul(const Tensor& x, const Tensor& y) { return gradus::mul(x.to(common(x, y)), y.to(common(x, y))); }
Tensor div(const Tensor& x, const Tensor& y) {
  const DType dtype = is_floating(common(x, y)) ? common(x, y) : DType::float32;
  return gradus::div(x.to(dtype), y.to(dtype));
}

template <Binary f>
Tensor scaled(const Tensor& x, const Tensor& other, double alpha) {
  return f(x, alpha == 1.0 ? other : other * alpha);
}
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, double alpha) {
  return gradus::index_add(x, dim, index, alpha == 1.0 ? source : source * alpha);
}

template <Tensor (*f)(const Tensor&, const Dims&, int64_t correction, bool keepdim)>
Tensor spread(const Tensor& x, const Dims& dims, bool unbiased, std::optional<int64_t> correction,
              bool keepdim) {
  return f(x, dims, correction.value_or(unbiased ? 1 : 0), keepdim);
}

template <Tensor (*of_all)(const Tensor&), ValuesAndIndices (*along)(const Tensor&, int64_t, bool)>
Tensors extreme(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return dim ? results(along(x, *dim, keepdim)) : Tensors{of_all(x)};
}

Tensors split(const Tensor& x, const json& size, int64_t dim) {
  return size.is_array() ? x.split(size.get<std::vector<int64_t>>(), dim) : x.split(size.get<int64_t>(), dim);
}
Tensor squeeze(const Tensor& x, std::optional<int64_t> dim) { return dim ? x.squeeze(*dim) : x.squeeze(); }
Tensor non_zero(const Tensor& x) { return x.dtype() == DType::boolean ? x : ne(x, 0.0); }
Tensor sum(const Tensor& x, const Dims& dims, bool keepdim) {
  return gradus::sum(x.dtype() == DType::boolean ? x.to(DType::int64) : x, dims, keepdim);
}

Tensor masked_fill(const Tensor& x, const Tensor& given, const Tensor& value, const json& number) {
  const Tensor mask = non_zero(given);
  if (number.is_null()) return gradus::masked_fill(x, mask, value);
  if (is_floating(x.dtype())) return gradus::masked_fill(x, mask, number_in(number));
  if (number_in(number) != std::trunc(number_in(number)))
    fail("masked_fill", "value must be a whole number.");
  return where(mask, full({}, number_in(number), x.dtype()), x);
}

Tensor clamp(const Tensor& x, const Tensor& low, const Tensor& high, std::optional<double> min,
             std::optional<double> max) {
  const bool has_numbers = (min || max) && (!low.defined() || min) && (!high.defined() || max);
  return has_numbers ? gradus::clamp(x, min.value_or(-kInf), max.value_or(kInf))
                     : gradus::clamp(x, low, high);
}

// In PyTorch query i sees the keys up to i, here those up to i + S - T: the same for T = S.
Tensor causal_mask(const Tensor& q, const Tensor& k, const Tensor& mask) {
  const Tensor seen = tril(ones({q.size(-2), k.size(-2)})).to(DType::boolean);
  if (!mask.defined()) return seen;
  if (mask.dtype() == DType::boolean) return where(seen, mask, zeros({}, DType::boolean));
  return gradus::masked_fill(mask, gradus::eq(seen, 0.0), -kInf);
}
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool is_causal,
                 std::optional<double> scale, bool enable_gqa) {
  const bool is_square = q.dim() < 2 || k.dim() < 2 || q.size(-2) == k.size(-2);
  const Tensor used = is_causal && !is_square ? causal_mask(q, k, mask) : mask;
  return scaled_dot_product_attention(
      q, k, v, {.causal = is_causal && is_square, .scale = scale, .mask = used, .enable_gqa = enable_gqa});
}

Tensor einsum(const Tensors& operands, const std::string& equation) {
  return gradus::einsum(equation, operands);
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
               std::optional<double> value) {
  if (src.defined() == value.has_value()) fail("scatter", "needs either src or value, got both or none.");
  return value ? gradus::scatter(x, dim, index, *value) : gradus::scatter(x, dim, index, src);
}

Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                     Reduction reduction, double smoothing) {
  return gradus::cross_entropy(
      x, target,
      {.weight = weight, .ignore_index = ignore_index, .reduction = reduction, .label_smoothing = smoothing});
}

template <class Options, Tensor (*f)(const Tensor&, const PerDim&, const Options&), class... Option>
Tensor windowed(const Tensor& x, const PerDim& kernel, const Option&... options) {
  return f(x, kernel, {options...});
}
Tensor fold(const Tensor& x, const PerDim& size, const PerDim& kernel, const PerDim& dilation,
            const PerDim& padding, const PerDim& stride) {
  return gradus::fold(x, size, kernel, {dilation, padding, stride});
}
template <Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, const ConvOptions&)>
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const PerDim& stride,
                   const Padding& padding, const PerDim& dilation, int64_t groups) {
  return f(x, weight, bias, {stride, padding, dilation, groups});
}
template <ValuesAndIndices (*f)(const Tensor&, const PerDim&, const MaxPoolOptions&)>
Tensors max_pool(const Tensor& x, const PerDim& kernel, const PerDim& stride, const PerDim& padding,
                 const PerDim& dilation, bool ceil_mode, bool return_indices) {
  const auto [values, indices] = f(x, kernel, {stride, padding, dilation, ceil_mode});
  return return_indices ? Tensors{values, indices} : Tensors{values};
}
Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight,
                  const Tensor& bias, bool training, double momentum, double eps) {
  const auto scratch = [training](const Tensor& t) { return training && t.defined() ? t.detach() + 0.0 : t; };
  return gradus::batch_norm(x, scratch(mean), scratch(var), weight, bias, training, momentum, eps);
}

DType dtype_in(const json& j) {
  return j == "f32"   ? DType::float32
         : j == "f64" ? DType::float64
         : j == "i64" ? DType::int64
                      : DType::boolean;
}

// A row of operations.def for Python, with parameters of files of cases: "mm x other" for "mm(input, mat2)".
std::string signature(const std::string& op, std::string_view row) {
  const size_t begin = row.find('(') + 1;
  std::string text(row.substr(begin, row.find(')') - begin));
  constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
      {"*", ""},   {",", ""},        {"input", "x"},     {"mat2", "other"}, {"sizes", "shape"},
      {"'", "\""}, {"None", "null"}, {"False", "false"}, {"True", "true"}};
  for (const auto& [from, to] : kReplaced)
    for (size_t at = text.find(from); at != text.npos; at = text.find(from))
      text.replace(at, from.size(), to);
  return concat(op, " ", text);
}

}  // namespace

double number_in(const json& j) {
  return j == "nan" ? testing::kNan : j == "inf" ? kInf : j == "-inf" ? -kInf : j.get<double>();
}

Tensor tensor_in(const json& j) {
  const json& data = j.at("data");
  const DType dtype = dtype_in(j["dtype"]);
  Tensor out = empty(Shape(j.at("shape").get<std::vector<int64_t>>()), dtype);
  REQUIRE(static_cast<int64_t>(data.size()) == out.numel());
  dispatch_any(dtype, [&]<class T>() {
    std::transform(data.begin(), data.end(), out.mutable_data<T>(), [&](const json& x) {
      if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t>)
        return x.get<T>();
      else
        return static_cast<T>(number_in(x));
    });
  });
  return out;
}

std::vector<TensorIndex> subscripts_in(const json& list, const Call& c) {
  const auto bound = [](const json& j) { return converted<std::optional<int64_t>>(j); };
  std::vector<TensorIndex> all;
  for (const json& subscript : list) {
    const auto& [kind, value] = *subscript.items().begin();
    if (kind == "int") all.emplace_back(value.get<int64_t>());
    if (kind == "newaxis") all.emplace_back(None);
    if (kind == "ellipsis") all.emplace_back(Ellipsis);
    if (kind == "tensor") all.emplace_back(c.tensor(value.get<std::string>()));
    if (kind == "slice")
      all.emplace_back(Slice(bound(value[0]), bound(value[1]), bound(value[2]).value_or(1)));
  }
  return all;
}

const std::map<std::string, Operation>& operations() {
  const std::string reduced = " x dim keepdim", pool = " x kernel_size stride padding=0",
                    window = " x weight bias stride=1 padding=0 dilation=1 groups=1";
  static const std::map<std::string, Operation> all = {
#define ROW(op, f, ...) __VA_OPT__(operation(signature(#op, __VA_ARGS__), f), )
#define GRADUS_OPERATION(name, python, ...) ROW(name, gradus::name, python)
#define GRADUS_MEMBER(name, python, ...) ROW(name, &Tensor::name, python)
#define GRADUS_COMPOSED(name, python) ROW(name, gradus::name, python)
#include "gradus/autograd/graph/operations.def"
      operation(
          "rotary_embedding x offset base=10000",
          +[](const Tensor& x, int64_t offset, double base) { return rotary_embedding(x, offset, base); }),
      operation("add x other alpha=1", scaled<add>),
      operation("sub x other alpha=1", scaled<sub>),
      operation("mul x other", mul),
      operation("div x other", div),
      operation("pow x other", Binary{gradus::pow}),
      operation("clamp x min max min max", clamp),
      operation("where condition x other", where),
      operation("masked_fill x mask value value", masked_fill),
      operation("softmax x dim", softmax),
      operation("log_softmax x dim", log_softmax),
      operation(
          "cumsum x dim", +[](const Tensor& x, int64_t dim) { return cumsum(x, dim); }),
      operation("sum" + reduced, sum),
      operation("mean" + reduced, mean),
      operation("var x dim unbiased=true correction keepdim", spread<var>),
      operation("std x dim unbiased=true correction keepdim", spread<gradus::stddev>),
      operation("max" + reduced, extreme<gradus::max, gradus::max>),
      operation("min" + reduced, extreme<gradus::min, gradus::min>),
      operation("einsum tensors equation", einsum),
      operation("scaled_dot_product_attention q k v mask is_causal scale enable_gqa", attention),
      operation("flatten x start_dim=0 end_dim=-1", &Tensor::flatten),
      operation("squeeze x dim", squeeze),
      operation("split x size dim=0", split),
      operation("chunk x chunks dim=0", &Tensor::chunk),
      operation("slice x dim=0 start=0 end=9223372036854775807 step=1", &Tensor::slice),
      operation("__getitem__ x index", &Tensor::index),
      operation("scatter x dim index src value", scatter),
      operation("nonzero x", nonzero),
      operation("one_hot index num_classes=-1", one_hot),
      operation("index_add x dim index source alpha=1", index_add),
      operation("embedding weight index padding_idx", embedding),
      operation("cross_entropy x target weight ignore_index=-100 reduction label_smoothing", cross_entropy),
      operation("unfold x kernel_size dilation=1 padding=0 stride=1",
                windowed<UnfoldOptions, gradus::unfold, PerDim, PerDim, PerDim>),
      operation("fold x output_size kernel_size dilation=1 padding=0 stride=1", fold),
      operation("conv1d" + window, convolution<conv1d>),
      operation("conv2d" + window, convolution<conv2d>),
      operation("max_pool1d" + pool + " dilation=1 ceil_mode return_indices",
                max_pool<max_pool1d_with_indices>),
      operation("max_pool2d" + pool + " dilation=1 ceil_mode return_indices",
                max_pool<max_pool2d_with_indices>),
      operation("avg_pool1d" + pool + " ceil_mode count_include_pad=true",
                windowed<AvgPoolOptions, avg_pool1d, PerDim, PerDim, bool, bool>),
      operation("avg_pool2d" + pool + " ceil_mode count_include_pad=true divisor_override",
                windowed<AvgPoolOptions, avg_pool2d, PerDim, PerDim, bool, bool, std::optional<int64_t>>),
      operation("batch_norm x running_mean running_var weight bias training momentum=0.1 eps=1e-5",
                batch_norm),
      operation("group_norm x num_groups weight bias eps=1e-5", group_norm),
  };
  return all;
}

}  // namespace gradus::cases

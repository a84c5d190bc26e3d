#include "gradus/tools/cases/operations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::cases {
namespace {

using Function = std::function<Tensors(const Call&)>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Function unary(Tensor (*f)(const Tensor&)) {
  return [f](const Call& c) { return Tensors{f(c.x())}; };
}

Function binary(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Call& c) { return Tensors{f(c.x(), c.scalar("other"))}; };
}

// PyTorch's common type of two operands: the wider float, or the float. Of two floats, one with dimensions
// takes precedence over a scalar.
DType common(const Tensor& x, const Tensor& y) {
  const DType a = x.dtype(), b = y.dtype();
  if (is_floating(a) && is_floating(b) && (x.dim() == 0) != (y.dim() == 0)) return x.dim() == 0 ? b : a;
  if (a == DType::float64 || b == DType::float64) return DType::float64;
  if (a == DType::float32 || b == DType::float32) return DType::float32;
  return a == DType::int64 || b == DType::int64 ? DType::int64 : DType::boolean;
}

// Converts both operands to their common type; a quotient of integers is float32.
Function promoted(const char* name, Tensor (*f)(const Tensor&, const Tensor&), bool divides = false) {
  return [=](const Call& c) {
    const Tensor x = c.x(), y = c.scalar("other");
    check_elements(broadcast_shapes(name, x.shape(), y.shape()));
    DType dtype = common(x, y);
    if (divides && !is_floating(dtype)) dtype = DType::float32;
    return Tensors{f(x.to(dtype), y.to(dtype))};
  };
}

Function matrix_product(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Call& c) {
    const Tensor a = c.x(), b = c.tensor("other");
    if (a.dim() > 1 && b.dim() > 1) {
      Shape rows = a.shape(), columns = b.shape();
      rows[rows.size() - 1] = 1;
      columns[columns.size() - 2] = 1;
      check_elements(broadcast_shapes("matmul", rows, columns));
    }
    return Tensors{f(a, b)};
  };
}

// f(x, alpha * other)
Function scaled(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Call& c) {
    const Tensor other = c.scalar("other");
    return Tensors{f(c.x(), c.number("alpha") == 1.0 ? other : other * c.number("alpha"))};
  };
}

Function along(Tensor (*f)(const Tensor&, int64_t dim)) {
  return [f](const Call& c) { return Tensors{f(c.x(), c.integer("dim"))}; };
}

Function reduction(Tensor (*f)(const Tensor&, const autograd::Dims&, bool keepdim)) {
  return [f](const Call& c) { return Tensors{f(c.x(), c.dims(), c.flag("keepdim"))}; };
}

Function spread(Tensor (*f)(const Tensor&, const autograd::Dims&, int64_t correction, bool keepdim)) {
  return [f](const Call& c) {
    const int64_t correction = c.has("correction") ? c.integer("correction") : c.flag("unbiased") ? 1 : 0;
    return Tensors{f(c.x(), c.dims(), correction, c.flag("keepdim"))};
  };
}

Function extreme(Tensor (*of_all)(const Tensor&),
                 autograd::Extreme (*along_dim)(const Tensor&, int64_t, bool)) {
  return [=](const Call& c) {
    if (!c.has("dim")) return Tensors{of_all(c.x())};
    const autograd::Extreme e = along_dim(c.x(), c.integer("dim"), c.flag("keepdim"));
    return Tensors{e.values, e.indices};
  };
}

Function triangle(Tensor (*f)(const Tensor&, int64_t diagonal)) {
  return
      [f](const Call& c) {  // a diagonal outside of each matrix that a case can have is as good as any other
        return Tensors{f(c.x(), std::clamp(c.integer("diagonal"), -kMaxElements, kMaxElements))};
      };
}

Function joined(Tensor (*f)(const Tensors&, int64_t dim)) {
  return [f](const Call& c) {
    double count = 0;
    for (const Tensor& t : c.tensors()) count += static_cast<double>(t.numel());
    check_elements(count);
    return Tensors{f(c.tensors(), c.integer("dim"))};
  };
}

Gelu gelu_form(const Call& c) {
  const auto& form = c.get<std::string>("approximate");
  if (form != "none" && form != "tanh") fail("gelu", "approximate must be none or tanh, got '", form, "'.");
  return form == "tanh" ? Gelu::tanh : Gelu::none;
}

Reduction reduction_of(const Call& c) {
  const auto& name = c.get<std::string>("reduction");
  if (name == "none") return Reduction::none;
  if (name == "sum") return Reduction::sum;
  if (name != "mean") fail("cases", "reduction must be none, mean or sum, got '", name, "'.");
  return Reduction::mean;
}

Tensor linear(const Call& c) {
  const Tensor x = c.x(), weight = c.tensor("weight");
  if (x.dim() > 0 && weight.dim() == 2 && weight.size(1) > 0)
    check_elements(static_cast<double>(x.numel()) / static_cast<double>(weight.size(1)) *
                   static_cast<double>(weight.size(0)));
  return gradus::linear(x, weight, c.tensor("bias"));
}

Tensor clamp(const Call& c) {
  const bool has_tensor = c.tensor("min").defined() || c.tensor("max").defined();
  if (has_tensor || (!c.has("min") && !c.has("max")))
    return gradus::clamp(c.x(), c.scalar("min"), c.scalar("max"));
  return gradus::clamp(c.x(), c.has("min") ? c.number("min") : -kInf, c.has("max") ? c.number("max") : kInf);
}

Tensor non_zero(const Tensor& x) { return x.dtype() == DType::boolean ? x : ne(x, 0.0); }

Tensor masked_fill(const Call& c) {
  const Tensor x = c.x(), mask = non_zero(c.tensor("mask"));
  if (const Tensor value = c.tensor("value"); value.defined()) return gradus::masked_fill(x, mask, value);
  const double value = c.number("value");
  if (is_floating(x.dtype())) return gradus::masked_fill(x, mask, value);
  if (value != std::trunc(value) || std::abs(value) >= 0x1p63)
    fail("cases", "value must be a whole number for ", name(x.dtype()), " elements, got ", value, ".");
  return where(mask, full({}, value, x.dtype()), x);
}

Tensor eq(const Call& c) {
  const Tensor x = is_floating(c.x().dtype()) ? c.x() : c.x().to(DType::float64);  // 1 is not 1.5
  return gradus::eq(x, c.number("value"));
}

Tensor div_sqrt(const Call& c) {
  const double n = c.number("n");
  if (!(n > 0 && std::isfinite(n))) fail("cases", "n must be a finite number above 0, got ", n, ".");
  return c.x() / static_cast<double>(static_cast<float>(std::sqrt(n)));
}

Tensor sum(const Call& c) {
  const Tensor x = c.x();
  return gradus::sum(x.dtype() == DType::boolean ? x.to(DType::int64) : x, c.dims(), c.flag("keepdim"));
}

Tensor index_add(const Call& c) {
  const Tensor source = c.tensor("source");
  return gradus::index_add(c.x(), c.integer("dim"), c.tensor("index"),
                           c.number("alpha") == 1.0 ? source : source * c.number("alpha"));
}

Tensor embedding(const Call& c) {
  std::optional<int64_t> padding;
  if (c.has("padding_idx")) padding = c.integer("padding_idx");
  return gradus::embedding(c.tensor("weight"), c.tensor("index"), padding);
}

Tensor cross_entropy(const Call& c) {
  return gradus::cross_entropy(c.x(), c.tensor("target"),
                               {.weight = c.tensor("weight"),
                                .ignore_index = c.integer("ignore_index"),
                                .reduction = reduction_of(c),
                                .label_smoothing = c.number("label_smoothing")});
}

// In PyTorch query i sees the keys up to i, here those up to i + S - T: the same for T = S.
Tensor causal_mask(const Tensor& q, const Tensor& k, const Tensor& mask) {
  const Tensor seen = tril(ones({q.size(-2), k.size(-2)})).to(DType::boolean);
  if (!mask.defined()) return seen;
  if (mask.dtype() == DType::boolean) return where(seen, mask, zeros({}, DType::boolean));
  return gradus::masked_fill(mask, gradus::eq(seen, 0.0), -kInf);
}

Tensor scaled_dot_product_attention(const Call& c) {
  const Tensor q = c.tensor("q"), k = c.tensor("k"), v = c.tensor("v");
  AttentionOptions options;
  options.causal = c.flag("is_causal");
  if (c.has("scale")) options.scale = c.number("scale");
  options.mask = c.tensor("mask");
  options.enable_gqa = c.flag("enable_gqa");
  if (options.causal && q.dim() > 1 && k.dim() > 1 && q.size(-2) != k.size(-2)) {
    options.causal = false;
    options.mask = causal_mask(q, k, options.mask);
  }
  return gradus::scaled_dot_product_attention(q, k, v, options);
}

/// An operation with one result.
template <class F>
Function one(F f) {
  return [f](const Call& c) { return Tensors{f(c)}; };
}

std::vector<Operation> table() {
  std::vector<Operation> all{
      {"neg(Tensor x)", unary(neg)},
      {"abs(Tensor x)", unary(gradus::abs)},
      {"exp(Tensor x)", unary(gradus::exp)},
      {"log(Tensor x)", unary(gradus::log)},
      {"sqrt(Tensor x)", unary(gradus::sqrt)},
      {"rsqrt(Tensor x)", unary(rsqrt)},
      {"tanh(Tensor x)", unary(gradus::tanh)},
      {"sigmoid(Tensor x)", unary(sigmoid)},
      {"relu(Tensor x)", unary(relu)},
      {"silu(Tensor x)", unary(silu)},
      {"sin(Tensor x)", unary(gradus::sin)},
      {"cos(Tensor x)", unary(gradus::cos)},
      {"to_bool(Tensor x)", unary(non_zero)},
      {"gelu(Tensor x, str approximate=none)", one([](const Call& c) { return gelu(c.x(), gelu_form(c)); })},
      {"swiglu(Tensor gate, Tensor up)",
       one([](const Call& c) { return swiglu(c.tensor("gate"), c.tensor("up")); })},
      {"rotary_embedding(Tensor x, int offset=0, float base=10000)",
       one([](const Call& c) { return rotary_embedding(c.x(), c.integer("offset"), c.number("base")); })},
      {"add(Tensor x, Scalar other, float alpha=1)", scaled(add)},
      {"sub(Tensor x, Scalar other, float alpha=1)", scaled(sub)},
      {"mul(Tensor x, Scalar other)", promoted("mul", mul)},
      {"div(Tensor x, Scalar other)", promoted("div", gradus::div, true)},
      {"div_sqrt(Tensor x, float n)", one(div_sqrt)},
      {"pow(Tensor x, Scalar other)", binary(gradus::pow)},
      {"maximum(Tensor x, Tensor other)", binary(maximum)},
      {"minimum(Tensor x, Tensor other)", binary(minimum)},
      {"clamp(Tensor x, Scalar? min, Scalar? max)", one(clamp)},
      {"eq(Tensor x, float value)", one(eq)},
      {"where(Tensor condition, Tensor x, Scalar other)",
       one([](const Call& c) { return where(c.tensor("condition"), c.x(), c.scalar("other")); })},
      {"masked_fill(Tensor x, Tensor mask, Scalar value)", one(masked_fill)},
      {"softmax(Tensor x, int dim)", along(softmax)},
      {"log_softmax(Tensor x, int dim)", along(log_softmax)},
      {"cumsum(Tensor x, int dim)", along([](const Tensor& x, int64_t dim) { return cumsum(x, dim); })},
      {"logsumexp(Tensor x, dims? dim, bool keepdim=False)", reduction(logsumexp)},
      {"sum(Tensor x, dims? dim, bool keepdim=False)", one(sum)},
      {"mean(Tensor x, dims? dim, bool keepdim=False)", reduction(mean)},
      {"amax(Tensor x, dims? dim, bool keepdim=False)", reduction(amax)},
      {"amin(Tensor x, dims? dim, bool keepdim=False)", reduction(amin)},
      {"var(Tensor x, dims? dim, bool unbiased=True, int? correction, bool keepdim=False)", spread(var)},
      {"std(Tensor x, dims? dim, bool unbiased=True, int? correction, bool keepdim=False)",
       spread(gradus::stddev)},
      {"max(Tensor x, int? dim, bool keepdim=False)", extreme(gradus::max, gradus::max)},
      {"min(Tensor x, int? dim, bool keepdim=False)", extreme(gradus::min, gradus::min)},
      {"matmul(Tensor x, Tensor other)", matrix_product(matmul)},
      {"mm(Tensor x, Tensor other)", matrix_product(mm)},
      {"bmm(Tensor x, Tensor other)", matrix_product(bmm)},
      {"linear(Tensor x, Tensor weight, Tensor? bias)", one(linear)},
      {"gelu_linear(Tensor x, Tensor weight, Tensor? bias, str approximate=none)", one([](const Call& c) {
         return gelu_linear(c.x(), c.tensor("weight"), c.tensor("bias"), gelu_form(c));
       })},
      {"swiglu_linear(Tensor gate, Tensor up, Tensor weight, Tensor? bias)", one([](const Call& c) {
         return swiglu_linear(c.tensor("gate"), c.tensor("up"), c.tensor("weight"), c.tensor("bias"));
       })},
      {"scaled_dot_product_attention(Tensor q, Tensor k, Tensor v, Tensor? mask, bool is_causal=False, "
       "float? scale, "
       "bool enable_gqa=False)",
       one(scaled_dot_product_attention)},
      {"ones(shape shape, dtype dtype=f32)",
       one([](const Call& c) { return gradus::ones(c.shape(), c.get<DType>("dtype")); })},
      {"transpose(Tensor x, int dim0, int dim1)",
       one([](const Call& c) { return c.x().transpose(c.integer("dim0"), c.integer("dim1")); })},
      {"permute(Tensor x, int[] dims)", one([](const Call& c) { return c.x().permute(c.integers("dims")); })},
      {"reshape(Tensor x, view shape)", one([](const Call& c) { return c.x().reshape(c.shape()); })},
      {"view(Tensor x, view shape)", one([](const Call& c) { return c.x().reshape(c.shape()); })},
      {"expand(Tensor x, view shape)", one([](const Call& c) { return c.x().expand(c.shape()); })},
      {"squeeze(Tensor x, int? dim)",
       one([](const Call& c) { return c.has("dim") ? c.x().squeeze(c.integer("dim")) : c.x().squeeze(); })},
      {"unsqueeze(Tensor x, int dim)", one([](const Call& c) { return c.x().unsqueeze(c.integer("dim")); })},
      {"cat(Tensor[] tensors, int? count, int dim=0)", joined(cat)},
      {"stack(Tensor[] tensors, int? count, int dim=0)", joined(stack)},
      {"split(Tensor x, size size, int dim=0)",
       [](const Call& c) {
         return c.is_list("size") ? c.x().split(c.integers("size"), c.integer("dim"))
                                  : c.x().split(c.integer("size"), c.integer("dim"));
       }},
      {"chunk(Tensor x, int chunks, int dim=0)",
       [](const Call& c) { return c.x().chunk(c.integer("chunks"), c.integer("dim")); }},
      {"slice(Tensor x, int dim=0, int start=0, int end=9223372036854775807, int step=1)",
       one([](const Call& c) {
         return c.x().slice(c.integer("dim"), c.integer("start"), c.integer("end"), c.integer("step"));
       })},
      {"select(Tensor x, int dim, int index)",
       one([](const Call& c) { return c.x().select(c.integer("dim"), c.integer("index")); })},
      {"__getitem__(Tensor x, index index)", one([](const Call& c) { return c.x().index(c.subscripts()); })},
      {"index_select(Tensor x, int dim, Tensor index)",
       one([](const Call& c) { return index_select(c.x(), c.integer("dim"), c.tensor("index")); })},
      {"gather(Tensor x, int dim, Tensor index)",
       one([](const Call& c) { return gather(c.x(), c.integer("dim"), c.tensor("index")); })},
      {"scatter_add(Tensor x, int dim, Tensor index, Tensor src)", one([](const Call& c) {
         return scatter_add(c.x(), c.integer("dim"), c.tensor("index"), c.tensor("src"));
       })},
      {"index_add(Tensor x, int dim, Tensor index, Tensor source, float alpha=1)", one(index_add)},
      {"embedding(Tensor weight, Tensor index, int? padding_idx)", one(embedding)},
      {"tril(Tensor x, int diagonal=0)", triangle(tril)},
      {"triu(Tensor x, int diagonal=0)", triangle(triu)},
      {"layer_norm(Tensor x, shape normalized_shape, Tensor? weight, Tensor? bias, float eps=1e-5)",
       one([](const Call& c) {
         return gradus::layer_norm(c.x(), Shape(c.integers("normalized_shape")), c.tensor("weight"),
                                   c.tensor("bias"), c.number("eps"));
       })},
      {"cross_entropy(Tensor x, Tensor target, Tensor? weight, int ignore_index=-100, str reduction=mean, "
       "float label_smoothing=0)",
       one(cross_entropy)},
      {"mse_loss(Tensor x, Tensor target, str reduction=mean)",
       one([](const Call& c) { return mse_loss(c.x(), c.tensor("target"), reduction_of(c)); })},
  };
  for (Operation& op : random_operations()) all.push_back(std::move(op));
  return all;
}

}  // namespace

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = table();
  return all;
}

}  // namespace gradus::cases

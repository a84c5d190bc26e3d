#include "gradus/annexes/cases/signature.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "gradus/annexes/cases/binding.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::cases {
namespace {

// -- operations that differ from the functions of gradus

using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Dims = autograd::Dims;

constexpr double kInf = std::numeric_limits<double>::infinity();

// PyTorch's common type of two operands: the wider float, or the float. Of two floats, one with dimensions
// takes precedence over a scalar.
DType common(const Tensor& x, const Tensor& y) {
  const DType a = x.dtype(), b = y.dtype();
  if (is_floating(a) && is_floating(b) && (x.dim() == 0) != (y.dim() == 0)) return x.dim() == 0 ? b : a;
  if (a == DType::float64 || b == DType::float64) return DType::float64;
  if (a == DType::float32 || b == DType::float32) return DType::float32;
  return a == DType::int64 || b == DType::int64 ? DType::int64 : DType::boolean;
}

Tensor mul(const Tensor& x, const Tensor& y) {
  check_elements(broadcast_shapes("mul", x.shape(), y.shape()));
  const DType dtype = common(x, y);
  return gradus::mul(x.to(dtype), y.to(dtype));
}

Tensor div(const Tensor& x, const Tensor& y) {
  check_elements(broadcast_shapes("div", x.shape(), y.shape()));
  const DType dtype = is_floating(common(x, y)) ? common(x, y) : DType::float32;
  return gradus::div(x.to(dtype), y.to(dtype));
}

Tensor times(const Tensor& x, double alpha) { return alpha == 1.0 ? x : x * alpha; }

template <Binary f>
Tensor scaled(const Tensor& x, const Tensor& other, double alpha) {
  return f(x, times(other, alpha));
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, double alpha) {
  return gradus::index_add(x, dim, index, times(source, alpha));
}

template <Binary product>
Tensor matrix_product(const Tensor& a, const Tensor& b) {
  if (a.dim() > 1 && b.dim() > 1) {
    Shape rows = a.shape(), columns = b.shape();
    rows[rows.size() - 1] = 1;
    columns[columns.size() - 2] = 1;
    check_elements(broadcast_shapes("matmul", rows, columns));
  }
  return product(a, b);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (x.dim() > 0 && weight.dim() == 2 && weight.size(1) > 0)
    check_elements(static_cast<double>(x.numel()) / static_cast<double>(weight.size(1)) *
                   static_cast<double>(weight.size(0)));
  return gradus::linear(x, weight, bias);
}

template <Tensor (*f)(const Tensor&, const Dims&, int64_t correction, bool keepdim)>
Tensor spread(const Tensor& x, const Dims& dims, bool unbiased, std::optional<int64_t> correction,
              bool keepdim) {
  return f(x, dims, correction.value_or(unbiased ? 1 : 0), keepdim);
}

template <Tensor (*of_all)(const Tensor&), ValuesAndIndices (*along)(const Tensor&, int64_t, bool)>
Tensors extreme(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  if (!dim) return {of_all(x)};
  const ValuesAndIndices e = along(x, *dim, keepdim);
  return {e.values, e.indices};
}

template <Tensor (*f)(const Tensor&, int64_t diagonal)>
Tensor triangle(const Tensor& x, int64_t diagonal) {  // All diagonals outside of the matrix give the same.
  return f(x, std::clamp(diagonal, -kMaxElements, kMaxElements));
}

template <Tensor (*f)(const Tensors&, int64_t dim)>
Tensor join(const Tensors& tensors, std::optional<int64_t> /*count*/, int64_t dim) {
  double elements = 0;
  for (const Tensor& t : tensors) elements += static_cast<double>(t.numel());
  check_elements(elements);
  return f(tensors, dim);
}

Tensors split(const Tensor& x, const Argument& size, int64_t dim) {
  if (const auto* sizes = std::get_if<std::vector<int64_t>>(&size)) return x.split(*sizes, dim);
  return x.split(std::get<int64_t>(size), dim);
}

Tensor squeeze(const Tensor& x, std::optional<int64_t> dim) { return dim ? x.squeeze(*dim) : x.squeeze(); }

Tensor non_zero(const Tensor& x) { return x.dtype() == DType::boolean ? x : ne(x, 0.0); }

Tensor eq(const Tensor& x, double value) {
  return gradus::eq(is_floating(x.dtype()) ? x : x.to(DType::float64), value);  // 1 is not 1.5
}

Tensor div_sqrt(const Tensor& x, double n) {
  if (!(n > 0 && std::isfinite(n))) fail("cases", "n must be a finite number above 0, got ", n, ".");
  return x / static_cast<double>(static_cast<float>(std::sqrt(n)));
}

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim) {
  return gradus::sum(x.dtype() == DType::boolean ? x.to(DType::int64) : x, dims, keepdim);
}

Tensors masked_fill(const Call& c) {
  const Tensor x = c.tensor("x"), mask = non_zero(c.tensor("mask")), value = c.tensor("value");
  if (value.defined()) return {gradus::masked_fill(x, mask, value)};
  const double number = std::get<double>(*c.argument("value"));
  if (is_floating(x.dtype())) return {gradus::masked_fill(x, mask, number)};
  if (number != std::trunc(number) || std::abs(number) >= 0x1p63)
    fail("cases", "value must be a whole number for ", name(x.dtype()), " elements, got ", number, ".");
  return {where(mask, full({}, number, x.dtype()), x)};
}

Tensors clamp(const Call& c) {
  const Argument *const min = c.argument("min"), *const max = c.argument("max");
  const bool has_tensor = c.tensor("min").defined() || c.tensor("max").defined();
  if (has_tensor || (!min && !max)) return {gradus::clamp(c.tensor("x"), c.scalar("min"), c.scalar("max"))};
  return {gradus::clamp(c.tensor("x"), min ? std::get<double>(*min) : -kInf,
                        max ? std::get<double>(*max) : kInf)};
}

// In PyTorch query i sees the keys up to i, here those up to i + S - T: the same for T = S.
Tensor causal_mask(const Tensor& q, const Tensor& k, const Tensor& mask) {
  const Tensor seen = tril(ones({q.size(-2), k.size(-2)})).to(DType::boolean);
  if (!mask.defined()) return seen;
  if (mask.dtype() == DType::boolean) return where(seen, mask, zeros({}, DType::boolean));
  return gradus::masked_fill(mask, gradus::eq(seen, 0.0), -kInf);
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    bool is_causal, std::optional<double> scale, bool enable_gqa) {
  const bool is_square = q.dim() < 2 || k.dim() < 2 || q.size(-2) == k.size(-2);
  return gradus::scaled_dot_product_attention(
      q, k, v,
      {.causal = is_causal && is_square,
       .scale = scale,
       .mask = is_causal && !is_square ? causal_mask(q, k, mask) : mask,
       .enable_gqa = enable_gqa});
}

Tensor einsum(const Tensors& operands, const std::string& equation, std::optional<int64_t> /*count*/) {
  double elements = 1;
  for (const Tensor& t : operands) elements *= static_cast<double>(std::max<int64_t>(t.numel(), 1));
  check_elements(elements);
  return gradus::einsum(equation, operands);
}

Tensor one_hot(const Tensor& index, int64_t num_classes) {
  const double classes =
      num_classes == -1 && index.numel() > 0 ? amax(index).item() + 1 : static_cast<double>(num_classes);
  check_elements(classes * static_cast<double>(index.numel()));
  return gradus::one_hot(index, num_classes);
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
               std::optional<double> value) {
  if (src.defined() == value.has_value()) fail("scatter", "needs either src or value, got both or none.");
  return value ? gradus::scatter(x, dim, index, *value) : gradus::scatter(x, dim, index, src);
}

Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                     Reduction reduction, double label_smoothing) {
  return gradus::cross_entropy(x, target,
                               {.weight = weight,
                                .ignore_index = ignore_index,
                                .reduction = reduction,
                                .label_smoothing = label_smoothing});
}

// -- operations that draw from the stream of a case, as PyTorch's do from its generator

void check_count(const char* name, int64_t count, int64_t least) {
  if (count < least) fail("cases", name, " must be at least ", least, ", got ", count, ".");
  check_elements(static_cast<double>(count));
}

Tensors manual_seed(int64_t seed, std::optional<Generator>& stream) {
  stream = Generator::torch(seed);
  return {};
}

Tensors discard(int64_t n, Generator& generator) {
  constexpr int64_t kMost = int64_t{1} << 32;  // words: half a minute
  if (n < 0 || n > kMost) fail("cases", "n must be from 0 to ", kMost, ", got ", n, ".");
  generator.discard(n);
  return {};
}

Tensor raw32(int64_t n, Generator& generator) {
  check_count("n", n, 0);
  Tensor out = empty({n}, DType::int64);
  std::generate_n(out.mutable_data<int64_t>(), n, [&] { return generator.next(); });
  return out;
}

Tensor randperm(int64_t n, Generator& generator) {
  check_count("n", n, 0);
  return gradus::randperm(n, generator);
}

Tensor multinomial(const Tensor& x, int64_t samples, bool replacement, Generator& generator) {
  check_count("num_samples", samples, 1);
  Shape drawn = x.shape();
  if (!drawn.empty()) drawn[drawn.size() - 1] = samples;
  check_elements(drawn);
  return gradus::multinomial(x, samples, generator, replacement);
}

Tensors linear_init(int64_t in, int64_t out, bool bias, Generator& generator) {
  check_count("in_features", in, 1);
  check_count("out_features", out, 1);
  check_elements(Shape{out, in});
  const nn::Linear layer(in, out, generator, {.bias = bias});
  return bias ? Tensors{layer.weight, layer.bias} : Tensors{layer.weight};
}

Tensor embedding_init(int64_t num, int64_t dim, Generator& generator) {
  check_count("num", num, 1);
  check_count("dim", dim, 1);
  check_elements(Shape{num, dim});
  return nn::Embedding(num, dim, generator).weight;
}

Tensor dropout(const Tensor& x, double p, const std::string& rng, bool train,
               std::optional<Generator>& stream) {
  if (rng != "default" && rng != "mkl") fail("cases", "rng must be default or mkl, got '", rng, "'.");
  if (!(p >= 0 && p <= 1)) fail("cases", "p must be in [0, 1], got ", p, ".");
  if (p == 0 || !train) return x;
  seeded(stream).as_torch()->set_masks(rng == "mkl" ? TorchStream::Masks::mkl : TorchStream::Masks::portable);
  return gradus::dropout(x, p, *stream);
}

std::vector<Operation> table() {
  return {
      operation("neg(Tensor x)", neg),
      operation("abs(Tensor x)", gradus::abs),
      operation("exp(Tensor x)", gradus::exp),
      operation("log(Tensor x)", gradus::log),
      operation("sqrt(Tensor x)", gradus::sqrt),
      operation("rsqrt(Tensor x)", rsqrt),
      operation("tanh(Tensor x)", gradus::tanh),
      operation("sigmoid(Tensor x)", sigmoid),
      operation("relu(Tensor x)", relu),
      operation("silu(Tensor x)", silu),
      operation("sin(Tensor x)", gradus::sin),
      operation("cos(Tensor x)", gradus::cos),
      operation("to_bool(Tensor x)", non_zero),
      operation("gelu(Tensor x, str approximate=none)", gelu),
      operation("swiglu(Tensor gate, Tensor up)", swiglu),
      operation(
          "rotary_embedding(Tensor x, int offset=0, float base=10000)",
          +[](const Tensor& x, int64_t offset, double base) { return rotary_embedding(x, offset, base); }),
      operation("add(Tensor x, Scalar other, float alpha=1)", scaled<add>),
      operation("sub(Tensor x, Scalar other, float alpha=1)", scaled<sub>),
      operation("mul(Tensor x, Scalar other)", mul),
      operation("div(Tensor x, Scalar other)", div),
      operation("div_sqrt(Tensor x, float n)", div_sqrt),
      operation("pow(Tensor x, Scalar other)", Binary{gradus::pow}),
      operation("maximum(Tensor x, Tensor other)", maximum),
      operation("minimum(Tensor x, Tensor other)", minimum),
      {"clamp(Tensor x, Scalar? min, Scalar? max)", clamp, false},
      operation("eq(Tensor x, float value)", eq),
      operation("where(Tensor condition, Tensor x, Scalar other)", where),
      {"masked_fill(Tensor x, Tensor mask, Scalar value)", masked_fill, false},
      operation("softmax(Tensor x, int dim)", softmax),
      operation("log_softmax(Tensor x, int dim)", log_softmax),
      operation(
          "cumsum(Tensor x, int dim)", +[](const Tensor& x, int64_t dim) { return cumsum(x, dim); }),
      operation("logsumexp(Tensor x, dims? dim, bool keepdim=False)", logsumexp),
      operation("sum(Tensor x, dims? dim, bool keepdim=False)", sum),
      operation("mean(Tensor x, dims? dim, bool keepdim=False)", mean),
      operation("amax(Tensor x, dims? dim, bool keepdim=False)", amax),
      operation("amin(Tensor x, dims? dim, bool keepdim=False)", amin),
      operation("var(Tensor x, dims? dim, bool unbiased=True, int? correction, bool keepdim=False)",
                spread<var>),
      operation("std(Tensor x, dims? dim, bool unbiased=True, int? correction, bool keepdim=False)",
                spread<gradus::stddev>),
      operation("max(Tensor x, int? dim, bool keepdim=False)", extreme<gradus::max, gradus::max>),
      operation("min(Tensor x, int? dim, bool keepdim=False)", extreme<gradus::min, gradus::min>),
      operation("norm(Tensor x, float p=2, dims? dim, bool keepdim=False)", gradus::norm),
      operation("sort(Tensor x, int dim=-1, bool descending=False)", gradus::sort),
      operation("topk(Tensor x, int k, int dim=-1, bool largest=True, bool sorted=True)", gradus::topk),
      operation("matmul(Tensor x, Tensor other)", matrix_product<matmul>),
      operation("mm(Tensor x, Tensor other)", matrix_product<mm>),
      operation("bmm(Tensor x, Tensor other)", matrix_product<bmm>),
      operation("einsum(Tensor[] tensors, str equation, int? count)", einsum),
      operation("linear(Tensor x, Tensor weight, Tensor? bias)", linear),
      operation("gelu_linear(Tensor x, Tensor weight, Tensor? bias, str approximate=none)", gelu_linear),
      operation("swiglu_linear(Tensor gate, Tensor up, Tensor weight, Tensor? bias)", swiglu_linear),
      operation("scaled_dot_product_attention(Tensor q, Tensor k, Tensor v, Tensor? mask, bool "
                "is_causal=False, float? scale, bool enable_gqa=False)",
                scaled_dot_product_attention),
      operation("ones(shape shape, dtype dtype=f32)", ones),
      operation("transpose(Tensor x, int dim0, int dim1)", &Tensor::transpose),
      operation("permute(Tensor x, int[] dims)", &Tensor::permute),
      operation("reshape(Tensor x, view shape)", &Tensor::reshape),
      operation("view(Tensor x, view shape)", &Tensor::reshape),
      operation("flatten(Tensor x, int start_dim=0, int end_dim=-1)", &Tensor::flatten),
      operation("expand(Tensor x, view shape)", &Tensor::expand),
      operation("squeeze(Tensor x, int? dim)", squeeze),
      operation("unsqueeze(Tensor x, int dim)", &Tensor::unsqueeze),
      operation("cat(Tensor[] tensors, int? count, int dim=0)", join<cat>),
      operation("stack(Tensor[] tensors, int? count, int dim=0)", join<stack>),
      operation("split(Tensor x, size size, int dim=0)", split),
      operation("chunk(Tensor x, int chunks, int dim=0)", &Tensor::chunk),
      operation("slice(Tensor x, int dim=0, int start=0, int end=9223372036854775807, int step=1)",
                &Tensor::slice),
      operation("select(Tensor x, int dim, int index)", &Tensor::select),
      operation("__getitem__(Tensor x, index index)", &Tensor::index),
      operation("index_select(Tensor x, int dim, Tensor index)", index_select),
      operation("gather(Tensor x, int dim, Tensor index)", gather),
      operation("scatter_add(Tensor x, int dim, Tensor index, Tensor src)", scatter_add),
      operation("scatter(Tensor x, int dim, Tensor index, Tensor? src, float? value)", scatter),
      operation("nonzero(Tensor x)", nonzero),
      operation("one_hot(Tensor index, int num_classes=-1)", one_hot),
      operation("index_add(Tensor x, int dim, Tensor index, Tensor source, float alpha=1)", index_add),
      operation("embedding(Tensor weight, Tensor index, int? padding_idx)", embedding),
      operation("tril(Tensor x, int diagonal=0)", triangle<tril>),
      operation("triu(Tensor x, int diagonal=0)", triangle<triu>),
      operation("layer_norm(Tensor x, shape normalized_shape, Tensor? weight, Tensor? bias, float eps=1e-5)",
                layer_norm),
      operation("cross_entropy(Tensor x, Tensor target, Tensor? weight, int ignore_index=-100, str "
                "reduction=mean, float label_smoothing=0)",
                cross_entropy),
      operation("mse_loss(Tensor x, Tensor target, str reduction=mean)", mse_loss),
      operation("l1_loss(Tensor x, Tensor target, str reduction=mean)", l1_loss),
      operation("huber_loss(Tensor x, Tensor target, str reduction=mean, float delta=1)", huber_loss),
      operation("smooth_l1_loss(Tensor x, Tensor target, str reduction=mean, float beta=1)", smooth_l1_loss),
      operation(
          "nll_loss(Tensor x, Tensor target, Tensor? weight, int ignore_index=-100, str reduction=mean)",
          nll_loss),
      operation("kl_div(Tensor x, Tensor target, str reduction=mean, bool log_target=False)", kl_div),
      operation("binary_cross_entropy_with_logits(Tensor x, Tensor target, Tensor? weight, str "
                "reduction=mean, Tensor? pos_weight)",
                binary_cross_entropy_with_logits),
      operation("manual_seed(seed seed)", manual_seed),
      operation("discard(int n)", discard),
      operation("raw32(int n)", raw32),
      operation("rand(shape shape, dtype dtype=f32)", gradus::rand),
      operation("uniform(shape shape, float lo, float hi, dtype dtype=f32)", uniform),
      operation("randn(shape shape, dtype dtype=f32)", randn),
      operation("normal(shape shape, float mean, float std, dtype dtype=f32)", normal),
      operation("randint(int low, int high, shape shape)", randint),
      operation("randperm(int n)", randperm),
      operation("multinomial(Tensor x, int num_samples, bool replacement=False)", multinomial),
      operation("bernoulli(Tensor x)", bernoulli),
      operation("linear_init(int in_features, int out_features, bool bias=True)", linear_init),
      operation("embedding_init(int num, int dim)", embedding_init),
      operation("dropout(Tensor x, float p, str rng=default, bool train=True)", dropout),
  };
}

}  // namespace

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> rows = table();
    std::ranges::move(window_operations(), std::back_inserter(rows));
    return rows;
  }();
  return all;
}

const Operation* find_operation(std::string_view name) {
  const auto& all = operations();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Operation& op) { return op.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace gradus::cases

// The table of operations, one row each, with PyTorch's names and defaults: see operation.hpp.
#include <cmath>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/raw.hpp"
#include "gradus/python/operation.hpp"
#ifdef GRADUS_HAS_LAYERS  // an annex
#include "gradus/annexes/layers/ops/windows.hpp"
#endif

namespace gradus::python {
namespace {

// The types of arguments.
using T = const Tensor&;
using O = const Operand&;
using I = const Ints&;
using S = const Shape&;
using G = const Random&;
using N = int64_t;
using D = double;
using B = bool;
using OptionalDtype = const std::optional<DType>&;
using OptionalN = const std::optional<int64_t>&;
using OptionalD = const std::optional<double>&;
// The result of max() and min(): of all elements or with another tensor, or along a dimension.
using OneOrBoth = std::variant<Tensor, ValuesAndIndices>;

// Functions whose values are no whole numbers take these as float32.
template <Tensor (*f)(T)>
Tensor of_floats(T x) {
  return f(is_floating(x.dtype()) ? x : x.to(DType::float32));
}

Tensor filled(T x, T mask, O value) {
  if (value.tensor.defined()) return masked_fill(x, mask, value.tensor);
  if (is_floating(x.dtype())) return masked_fill(x, mask, value.number);
  if (value.number != std::floor(value.number))
    fail("masked_fill", "needs a whole number for ", name(x.dtype()), " values, got ", value.number, ".");
  return where(mask, full({}, value.number, x.dtype()), x);
}

DType or_float(OptionalDtype dtype) { return dtype.value_or(DType::float32); }
Tensor to(T x, OptionalDtype dtype) { return dtype ? x.to(*dtype) : x; }
Tensor made(Tensor x, bool requires_grad) { return requires_grad ? x.requires_grad_() : x; }
Tensor countable(T x) { return x.dtype() == DType::boolean ? x.to(DType::int64) : x; }  // of bool, sums count

// A number as a tensor without dimensions, of the dtype that the other operand gives it.
Tensor tensor_of_operand(O x, O like) {
  if (x.tensor.defined()) return x.tensor;
  const DType other = like.tensor.defined() ? like.tensor.dtype() : DType::float32;
  return full({}, x.number, is_floating(other) || x.number == std::floor(x.number) ? other : DType::float32);
}

Tensor clamped(T x, const std::optional<Operand>& min, const std::optional<Operand>& max) {
  if ((min && min->tensor.defined()) || (max && max->tensor.defined()))
    return clamp(x, min ? tensor_of_operand(*min, {x}) : Tensor(),
                 max ? tensor_of_operand(*max, {x}) : Tensor());
  return clamp(x, min ? min->number : -INFINITY, max ? max->number : INFINITY);
}

Tensor cross_entropy_of(T logits, T target, T weight, N ignore, Reduction reduction, D smoothing) {
  if (logits.dim() == 2 && target.dim() == 1 && !weight.defined() && smoothing == 0)
    return cross_entropy(logits, target, ignore, reduction);
  return cross_entropy(logits, target, CrossEntropyOptions{weight, ignore, reduction, smoothing});
}

Tensor attention(T q, T k, T v, T mask, D dropout, B causal, OptionalD scale, B gqa, N window, G g) {
  return scaled_dot_product_attention(q, k, v,
                                      {.causal = causal,
                                       .scale = scale,
                                       .window = window,
                                       .mask = mask,
                                       .dropout = dropout,
                                       .generator = g.get(),
                                       .enable_gqa = gqa});
}

Tensor view(T x, S shape) {
  const Tensor y = x.reshape(shape);
  if (y.impl()->storage == x.impl()->storage) return y;
  fail("view", "shape ", shape, " takes a copy of strides ", x.strides(), ". Hint: reshape() makes one.");
}

std::vector<Tensor> unbind(T x, N dim) {
  std::vector<Tensor> all;
  for (int64_t i = 0; i < x.size(dim); ++i) all.push_back(x.select(dim, i));
  return all;
}

#if __has_include("gradus/annexes/layers/ops/windows.hpp")
using Sizes = std::variant<Ints, std::string>;  // "same" or "valid" is a padding

autograd::PerDim each(I sizes) { return autograd::PerDim(sizes.values); }
autograd::Padding padding_of(const Sizes& sizes) {
  if (const auto* name = std::get_if<std::string>(&sizes)) return *name;
  return each(std::get<Ints>(sizes));
}
#endif

py::object nested(const Tensor& x, int dim, int64_t offset) {
  if (dim == x.dim())
    return dispatch_any(x.dtype(), [&]<class E>() -> py::object { return py::cast(x.data<E>()[offset]); });
  py::list list;
  for (int64_t i = 0; i < x.shape()[dim]; ++i) list.append(nested(x, dim + 1, offset + i * x.strides()[dim]));
  return list;
}

py::object item_of(T x) {
  static_cast<void>(x.item());  // throws unless there is one
  return nested(x.reshape({}), 0, 0);
}

std::string op_of(T x) {
  return !x.requires_grad() || x.impl()->node->is_leaf() ? "" : std::string(x.impl()->node->op);
}

void set_data(py::handle self, T from) {
  Tensor x = tensor_of(self.ptr()).detach();
  if (!from.defined() || from.shape() != x.shape())
    fail("data", "needs values of shape ", x.shape(), ", got ",
         from.defined() ? concat(from.shape()) : "none", ".");
  x.copy_(from);
}

}  // namespace

// A row is a line.
// clang-format off

#define BINARY(tensors, number) [](T a, O b) { return b.tensor.defined() ? tensors(a, b.tensor) : number; }

void add_operations(py::module_& m) {
  Table t(m);
  // -- arithmetic
  t.both("*add(input, other, alpha=1)", [](T a, O b, D alpha) { return !b.tensor.defined() ? a + b.number * alpha : alpha == 1 ? a + b.tensor : a + b.tensor * alpha; });
  t.both("*sub(input, other, alpha=1)", [](T a, O b, D alpha) { return !b.tensor.defined() ? a - b.number * alpha : alpha == 1 ? a - b.tensor : a - b.tensor * alpha; });
  t.both("*mul(input, other)", BINARY(mul, a * b.number));
  t.both("*div(input, other)", BINARY(div, a / b.number));
  t.both("*pow(input, exponent)", [](O a, O b) { return b.tensor.defined() ? pow(tensor_of_operand(a, b), b.tensor) : pow(a.tensor, b.number); });
  t.both<static_cast<Tensor (*)(T, T)>(maximum)>("maximum(input, other)");
  t.both<static_cast<Tensor (*)(T, T)>(minimum)>("minimum(input, other)");
  t.both<neg>("*neg(input)");
  t.both<static_cast<Tensor (*)(T)>(abs)>("*abs(input)");
  t.both<of_floats<exp>>("*exp(input)");
  t.both<of_floats<log>>("*log(input)");
  t.both<of_floats<sqrt>>("*sqrt(input)");
  t.both<of_floats<rsqrt>>("*rsqrt(input)");
  t.both<of_floats<tanh>>("*tanh(input)");
  t.both<of_floats<sigmoid>>("*sigmoid(input)");
  t.both<relu>("*relu(input)");
  t.function<gelu>("gelu(input, approximate='none')");
  t.function<silu>("silu(input)");
  t.function<swiglu>("swiglu(gate, up)");
  t.function<softplus>("softplus(input, beta=1, threshold=20)");
  t.function<mish>("mish(input)");
  t.both<of_floats<sin>>("*sin(input)");
  t.both<of_floats<cos>>("*cos(input)");
  t.both<of_floats<erf>>("*erf(input)");
  t.both<sign>("sign(input)");
  t.both("*square(input)", [](T x) { return x * x; });
  t.both("*reciprocal(input)", [](T x) { return 1.0 / x; });
  t.both<clamped>("*clamp(input, min=None, max=None)");
  t.method("__radd__(input, other)", [](T a, O b) { return b.number + a; });
  t.method("__rsub__(input, other)", [](T a, O b) { return b.number - a; });
  t.method("__rmul__(input, other)", [](T a, O b) { return b.number * a; });
  t.method("__rtruediv__(input, other)", [](T a, O b) { return b.number / a; });
  t.method("__rpow__(input, other)", [](T a, O b) { return pow(tensor_of_operand(b, {a}), a); });
  // -- choices and comparisons
  t.both("where(condition, input, other)", [](T c, O a, O b) { return where(c, tensor_of_operand(a, b), tensor_of_operand(b, a)); });
  t.both<filled>("*masked_fill(input, mask, value)");
  t.both("eq(input, other)", BINARY(eq, eq(a, b.number)));
  t.both("ne(input, other)", BINARY(ne, ne(a, b.number)));
  t.both("lt(input, other)", BINARY(lt, lt(a, b.number)));
  t.both("le(input, other)", BINARY(le, le(a, b.number)));
  t.both("gt(input, other)", BINARY(gt, gt(a, b.number)));
  t.both("ge(input, other)", BINARY(ge, ge(a, b.number)));
  t.both("isnan(input)", [](T x) { return ne(x, x); });
  t.both("isfinite(input)", [](T x) { return lt(abs(x), INFINITY); });
  // -- reductions
  t.both("sum(input, dim=None, keepdim=False, dtype=None)", [](T x, I dim, B keep, OptionalDtype dtype) { return sum(to(countable(x), dtype), dim.values, keep); });
  t.both("mean(input, dim=None, keepdim=False, dtype=None)", [](T x, I dim, B keep, OptionalDtype dtype) { return mean(to(x, dtype), dim.values, keep); });
  t.both("var(input, dim=None, unbiased=True, keepdim=False, correction=None)", [](T x, I dim, B unbiased, B keep, OptionalN n) { return var(x, dim.values, n.value_or(unbiased), keep); });
  t.both("std(input, dim=None, unbiased=True, keepdim=False, correction=None)", [](T x, I dim, B unbiased, B keep, OptionalN n) { return stddev(x, dim.values, n.value_or(unbiased), keep); });
  t.both("amax(input, dim=None, keepdim=False)", [](T x, I dim, B keep) { return amax(x, dim.values, keep); });
  t.both("amin(input, dim=None, keepdim=False)", [](T x, I dim, B keep) { return amin(x, dim.values, keep); });
  t.both("max(input, dim=None, keepdim=False)", [](T x, const std::optional<Operand>& dim, B keep) -> OneOrBoth { if (!dim) return max(x); return dim->tensor.defined() ? OneOrBoth(maximum(x, dim->tensor)) : max(x, static_cast<N>(dim->number), keep); });
  t.both("min(input, dim=None, keepdim=False)", [](T x, const std::optional<Operand>& dim, B keep) -> OneOrBoth { if (!dim) return min(x); return dim->tensor.defined() ? OneOrBoth(minimum(x, dim->tensor)) : min(x, static_cast<N>(dim->number), keep); });
  t.both("argmax(input, dim=None, keepdim=False)", [](T x, OptionalN dim, B keep) { return dim ? argmax(x, *dim, keep) : argmax(x.reshape({-1}), 0); });
  t.both("argmin(input, dim=None, keepdim=False)", [](T x, OptionalN dim, B keep) { return dim ? argmin(x, *dim, keep) : argmin(x.reshape({-1}), 0); });
  t.both("all(input, dim=None, keepdim=False)", [](T x, I dim, B keep) { return eq(sum(eq(x, 0.0).to(DType::int64), dim.values, keep), 0.0); });
  t.both("any(input, dim=None, keepdim=False)", [](T x, I dim, B keep) { return ne(sum(ne(x, 0.0).to(DType::int64), dim.values, keep), 0.0); });
  t.both("cumsum(input, dim, reverse=False)", [](T x, N dim, B reverse) { return cumsum(countable(x), dim, reverse); });
  t.function<linear_recurrence>("linear_recurrence(a, b, dim, reverse=False)");
  t.both("logsumexp(input, dim, keepdim=False)", [](T x, I dim, B keep) { return logsumexp(x, dim.values, keep); });
  t.both("norm(input, p=2, dim=None, keepdim=False)", [](T x, D p, I dim, B keep) { return norm(x, p, dim.values, keep); });
  t.both("softmax(input, dim, dtype=None)", [](T x, N dim, OptionalDtype dtype) { return softmax(to(x, dtype), dim); });
  t.function<safe_softmax>("safe_softmax(input, dim)");
  t.both("log_softmax(input, dim, dtype=None)", [](T x, N dim, OptionalDtype dtype) { return log_softmax(to(x, dtype), dim); });
  // -- products
  t.both<matmul>("matmul(input, other)");
  t.both<mm>("mm(input, mat2)");
  t.both<bmm>("bmm(input, mat2)");
  t.both("outer(input, vec2)", [](T a, T b) { return a.reshape({-1, 1}) * b.reshape({1, -1}); });
  t.function<linear>("linear(input, weight, bias=None)");
  t.function<gelu_linear>("gelu_linear(input, weight, bias=None, approximate='none')");
  t.function<swiglu_linear>("swiglu_linear(gate, up, weight, bias=None)");
  t.function("einsum_of(equation, operands)", [](const std::string& equation, const std::vector<Tensor>& operands) { return einsum(equation, operands); });
  // -- joining and indexing
  t.function<cat>("cat(tensors, dim=0)");
  t.function<stack>("stack(tensors, dim=0)");
  t.both<index_select>("index_select(input, dim, index)");
  t.both("*index_add(input, dim, index, source, alpha=1)", [](T x, N dim, T index, T source, D alpha) { return index_add(x, dim, index, alpha == 1 ? source : source * alpha); });
  t.both<gather>("gather(input, dim, index)");
  t.both<scatter_add>("*scatter_add(input, dim, index, src)");
  t.both("*scatter(input, dim, index, src)", [](T x, N dim, T index, O src) { return src.tensor.defined() ? scatter(x, dim, index, src.tensor) : scatter(x, dim, index, src.number); });
  t.both<sort>("sort(input, dim=-1, descending=False)");
  t.both("argsort(input, dim=-1, descending=False)", [](T x, N dim, B descending) { return sort(x, dim, descending).indices; });
  t.both<topk>("topk(input, k, dim=-1, largest=True, sorted=True)");
  t.function("embedding(input, weight, padding_idx=None)", [](T index, T weight, OptionalN padding) { return embedding(weight, index, padding); });
  t.both<tril>("*tril(input, diagonal=0)");
  t.both<triu>("*triu(input, diagonal=0)");
  t.function<pad>("pad_dim(input, dim, size, start, step=1)");
  t.both<nonzero>("nonzero(input)");
  t.function<one_hot>("one_hot(tensor, num_classes=-1)");
  // -- views
  t.both("transpose(input, dim0, dim1)", [](T x, N a, N b) { return x.transpose(a, b); });
  t.both("permute(input, *dims)", [](T x, I dims) { return x.permute(dims.values); });
  t.both("reshape(input, *shape)", [](T x, S shape) { return x.reshape(shape); });
  t.method<view>("view(input, *shape)");
  t.method("expand(input, *sizes)", [](T x, S sizes) { return x.expand(sizes); });
  t.both("flatten(input, start_dim=0, end_dim=-1)", [](T x, N start, N end) { return x.flatten(start, end); });
  t.both("squeeze(input, dim=None)", [](T x, OptionalN dim) { return dim ? x.squeeze(*dim) : x.squeeze(); });
  t.both("unsqueeze(input, dim)", [](T x, N dim) { return x.unsqueeze(dim); });
  t.both("narrow(input, dim, start, length)", [](T x, N dim, N start, N length) { return x.slice(dim, start, start + length); });
  t.both("select(input, dim, index)", [](T x, N dim, N index) { return x.select(dim, index); });
  t.both("split(tensor, split_size_or_sections, dim=0)", [](T x, I sizes, N dim) { return sizes.is_one ? x.split(sizes.values[0], dim) : x.split(sizes.values, dim); });
  t.both("chunk(input, chunks, dim=0)", [](T x, N chunks, N dim) { return x.chunk(chunks, dim); });
  t.both<unbind>("unbind(input, dim=0)");
  t.method("contiguous(input)", [](T x) { return x.contiguous(); });
  t.both("clone(input)", [](T x) { return grad_enabled() && x.requires_grad() ? (x * 1.0).contiguous() : raw::clone(x.detach()); });
  t.method("detach(input)", [](T x) { return x.detach(); });
  t.method("cast(input, dtype)", [](T x, DType dtype) { return x.to(dtype); });
  t.method("copy(input, source)", [](T x, T source) { Tensor(x).copy_(source); });
  // -- layers and losses
  t.function<layer_norm>("layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)");
  t.function<rms_norm>("rms_norm(input, normalized_shape, weight=None, eps=None)");
  t.function<static_cast<Tensor (*)(T, N, D)>(rotary_embedding)>( "rotary_embedding(input, offset=0, base=10000.0)");
  t.function<cross_entropy_of>( "cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0)");
  t.function<nll_loss>("nll_loss(input, target, weight=None, ignore_index=-100, reduction='mean')");
  t.function<mse_loss>("mse_loss(input, target, reduction='mean')");
  t.function<l1_loss>("l1_loss(input, target, reduction='mean')");
  t.function<huber_loss>("huber_loss(input, target, reduction='mean', delta=1.0)");
  t.function<smooth_l1_loss>("smooth_l1_loss(input, target, reduction='mean', beta=1.0)");
  t.function<kl_div>("kl_div(input, target, reduction='mean', log_target=False)");
  t.function<binary_cross_entropy_with_logits>( "binary_cross_entropy_with_logits(input, target, weight=None, reduction='mean', pos_weight=None)");
  t.function("dropout(input, p=0.5, training=True, generator=None)", [](T x, D p, B training, G g) { return training ? dropout(x, p, g) : x; });
  t.function<attention>( "scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, " "scale=None, enable_gqa=False, window=0, generator=None)");
#ifdef GRADUS_HAS_LAYERS
  t.function<batch_norm>( "batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, " "eps=1e-05)");
  t.function<group_norm>("group_norm(input, num_groups, weight=None, bias=None, eps=1e-05)");
  t.function("unfold(input, kernel_size, dilation=1, padding=0, stride=1)", [](T x, I size, I dilation, I padding, I stride) { return unfold(x, each(size), {each(dilation), each(padding), each(stride)}); });
  t.function("fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1)", [](T x, I out, I size, I dilation, I padding, I stride) { return fold(x, each(out), each(size), {each(dilation), each(padding), each(stride)}); });
#define WINDOWS(n) \
  t.function("conv" #n "d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)", [](T x, T weight, T bias, I stride, const Sizes& padding, I dilation, N groups) { return conv##n##d(x, weight, bias, {each(stride), padding_of(padding), each(dilation), groups}); }); \
  t.function("max_pool" #n "d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)", [](T x, I size, I stride, I padding, I dilation, B ceil, B indices) -> OneOrBoth { auto both = max_pool##n##d_with_indices(x, each(size), {each(stride), each(padding), each(dilation), ceil}); return indices ? OneOrBoth(both) : both.values; }); \
  t.function("avg_pool" #n "d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None)", [](T x, I size, I stride, I padding, B ceil, B count, OptionalN divisor) { return avg_pool##n##d(x, each(size), {each(stride), each(padding), ceil, count, divisor}); });
  WINDOWS(1)
  WINDOWS(2)
#endif
  // -- making tensors
  t.function("zeros(*size, dtype=None, requires_grad=False)", [](S size, OptionalDtype dtype, B grad) { return made(zeros(size, or_float(dtype)), grad); });
  t.function("ones(*size, dtype=None, requires_grad=False)", [](S size, OptionalDtype dtype, B grad) { return made(ones(size, or_float(dtype)), grad); });
  t.function("empty(*size, dtype=None, requires_grad=False)", [](S size, OptionalDtype dtype, B grad) { return made(empty(size, or_float(dtype)), grad); });
  t.function<static_cast<Tensor (*)(S, D, DType)>(full)>("full_of(size, fill_value, dtype)");
  t.function<arange>("arange_of(start, end, step, dtype)");
  t.function("eye(n, dtype=None, requires_grad=False)", [](N n, OptionalDtype dtype, B grad) { return made(eye(n, or_float(dtype)), grad); });
  t.function( "rand(*size, generator=None, dtype=None, requires_grad=False)", [](S size, G g, OptionalDtype dtype, B grad) { return made(rand(size, g, or_float(dtype)), grad); });
  t.function( "randn(*size, generator=None, dtype=None, requires_grad=False)", [](S size, G g, OptionalDtype dtype, B grad) { return made(randn(size, g, or_float(dtype)), grad); });
  t.function("normal(mean, std, size, generator=None, dtype=None)", [](D mean, D std, S size, G g, OptionalDtype dtype) { return normal(size, mean, std, g, or_float(dtype)); });
  t.function("uniform_of(size, low, high, generator=None, dtype=None)", [](S size, D low, D high, G g, OptionalDtype dtype) { return uniform(size, low, high, g, or_float(dtype)); });
  t.function("randint_of(low, high, size, generator=None)", [](N low, N high, S size, G g) { return randint(low, high, size, g); });
  t.function("randperm(n, generator=None)", [](N n, G g) { return randperm(n, g); });
  t.both("multinomial(input, num_samples, replacement=False, generator=None)", [](T p, N n, B replacement, G g) { return multinomial(p, n, g, replacement); });
  t.both("bernoulli(input, generator=None)", [](T p, G g) { return bernoulli(p, g); });
  // -- what a tensor is
  t.both("numel(input)", [](T x) { return x.numel(); });
  t.method("dim(input)", [](T x) { return x.dim(); });
  t.method("is_contiguous(input)", [](T x) { return x.is_contiguous(); });
  t.method("item(input)", [](py::handle x) { return item_of(tensor_of(x.ptr())); });
  t.method("tolist(input)", [](py::handle x) { return nested(tensor_of(x.ptr()), 0, 0); });
  t.method("stride(input)", [](py::handle x) { return py::tuple(py::cast(tensor_of(x.ptr()).strides())); });
  t.method("data_ptr(input)", [](T x) { return reinterpret_cast<uintptr_t>(x.raw_data()); });
  t.property("shape(input)", [](py::handle x) { return py::reinterpret_steal<py::object>(size_object(tensor_of(x.ptr()).shape())); });
  t.property("ndim(input)", [](T x) { return x.dim(); });
  t.property("dtype(input)", [](T x) { return x.dtype(); });
  t.property("grad_fn(input)", [](T x) { const std::string op = op_of(x); return op.empty() ? std::optional<std::string>() : op; });
  t.property("is_leaf(input)", [](T x) { return op_of(x).empty(); });
  t.property("_version(input)", [](T x) { return x.impl()->storage->version(); });
  t.property( "requires_grad(input)", [](T x) { return x.requires_grad(); }, "requires_grad(input, on)", [](py::handle x, B on) { set_requires_grad(x.ptr(), on); });
  t.property( "grad(input)", [](T x) { return x.grad(); }, "grad(input, value)", [](T x, T grad) { Tensor(x).set_grad(grad); });
  t.property( "data(input)", [](T x) { return x.detach(); }, "data(input, value)", [](py::handle x, T from) { set_data(x, from); });
}

// clang-format on

std::shared_ptr<RandomStream>& default_stream() {
  static auto* const stream =
      new std::shared_ptr<RandomStream>(std::make_shared<RandomStream>(Generator::torch(0)));
  return *stream;
}

}  // namespace gradus::python

// The rows of operations on tensors, with PyTorch's names and defaults: see operation.hpp.
#include <numeric>
#include <set>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/raw.hpp"
#include "gradus/python/operation.hpp"

namespace gradus::python {
namespace {

using namespace arguments;

// Adds a row of operations.def. A function marked with ~ takes whole numbers as float32.
template <auto f>
void add_function(Table& t, const char* row) {
  if constexpr (std::is_same_v<decltype(f), Tensor (*)(T)>)
    if (row[0] == '~')
      return t(row, [](T x) { return f(is_floating(x.dtype()) ? x : x.to(DType::float32)); });
  t(row, of<f>);
}

// A tensor of copies of a number, or of a tensor's element.
Tensor filled_with(S size, O value, DType dtype) {
  if (!value.tensor.defined()) return full(size, value.number, dtype);
  Tensor x = empty(size, dtype);
  x.copy_(value.tensor.detach());
  return x;
}

Tensor narrowed(T x, N dim, N start, N length) {
  const N size = x.size(dim), first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || length > size - first)
    fail("narrow", "start ", start, " and length ", length, " must lie in a dimension of ", size, ".");
  return x.slice(dim, first, first + length);
}

Tensor cross_entropy_of(T logits, T target, T weight, N ignore, Reduction reduction, D smoothing) {
  if (logits.dim() == 2 && target.dim() == 1 && !weight.defined() && smoothing == 0)
    return cross_entropy(logits, target, ignore, reduction);
  return cross_entropy(logits, target, CrossEntropyOptions{weight, ignore, reduction, smoothing});
}

Tensor view(T x, S shape) {
  const Tensor y = x.reshape(shape);
  if (y.impl()->storage == x.impl()->storage) return y;
  fail("view", "shape ", shape, " takes a copy of strides ", x.strides(), ". Hint: reshape() makes one.");
}

std::vector<Tensor> unbind(T x, N dim) {
  std::vector<Tensor> all;
  for (N i = 0; i < x.size(dim); ++i) all.push_back(x.select(dim, i));
  return all;
}

// In the dtype that the widest of them has.
std::vector<Tensor> promoted(std::vector<Tensor> all) {
  const auto rank = [](DType t) {
    return t == DType::float64 ? 3 : is_floating(t) ? 2 : t != DType::boolean;
  };
  const auto widest = std::ranges::max_element(all, {}, [rank](T x) { return rank(x.dtype()); });
  for (Tensor& x : all) x = x.to(widest->dtype());
  return all;
}

Tensor attention(T q, T k, T v, T mask, D dropout, B causal, OptionalD scale, B gqa, N window, G g) {
  // PyTorch's first query sees the first key, the library's last query the last key.
  const bool differ =
      causal && window == 0 && !mask.defined() && q.dim() > 1 && k.dim() > 1 && q.size(-2) != k.size(-2);
  const Tensor shown = differ ? ne(tril(ones({q.size(-2), k.size(-2)})), 0.0) : mask;
  return scaled_dot_product_attention(q, k, v,
                                      {causal && !differ, scale, window, {}, shown, dropout, g.get(), gqa});
}

// All elements in their order if there is no dim.
Tensor rolled(T x, I shifts, I dims) {
  if (shifts.values.size() != std::max<size_t>(dims.values.size(), 1))
    fail("roll", "needs a shift for each of ", dims.values.size(), " dims, got ", shifts.values.size(), ".");
  if (dims.values.empty()) return rolled(x.reshape({-1}), shifts, {{0}}).reshape(x.shape());
  Tensor y = x;
  for (size_t i = 0; i < dims.values.size(); ++i) {
    const N dim = dims.values[i], size = x.size(dim), shift = shifts.values[i];
    const N first = size == 0 ? 0 : ((shift % size) + size) % size;
    y = cat({y.slice(dim, size - first, size), y.slice(dim, 0, size - first)}, dim);
  }
  return y;
}

Tensor copied(T x) {
  return grad_enabled() && x.requires_grad() ? (x * 1.0).contiguous() : raw::clone(x.detach());
}

// The tensor as a tile; new dimensions come in front.
Tensor repeated(T x, I counts) {
  Shape from = x.shape();
  while (from.size() < std::ssize(counts.values)) from.insert(0, 1);
  if (from.size() != std::ssize(counts.values))
    fail("repeat", "needs a count for each of ", x.dim(), " dimensions, got ", counts.values.size(), ".");
  Tensor y = x.reshape(from);
  for (int d = 0; d < from.size(); ++d)
    if (const N count = counts.values[static_cast<size_t>(d)]; count < 0)
      fail("repeat", "needs counts of at least 0, got ", count, ".");
    else if (count != 1)
      y = count == 0 ? y.slice(d, 0, 0) : cat(std::vector<Tensor>(static_cast<size_t>(count), y), d);
  return y.impl()->storage == x.impl()->storage ? copied(y) : y;
}

#ifdef GRADUS_HAS_LAYERS
using Sizes = std::variant<Ints, std::string>;  // "same" or "valid" is a padding

autograd::Padding padding_of(const Sizes& sizes) {
  if (const auto* name = std::get_if<std::string>(&sizes)) return *name;
  const autograd::PerDim each = std::get<Ints>(sizes);
  return each;
}

template <ValuesAndIndices (*pool)(T, const autograd::PerDim&, const MaxPoolOptions&)>
OneOrBoth largest(T x, I size, I stride, I padding, I dilation, B ceil, B with_indices) {
  const ValuesAndIndices both = pool(x, size, {stride, padding, dilation, ceil});
  return with_indices ? OneOrBoth(both) : both.values;
}
#endif

py::object item(py::handle self) {
  const Tensor& x = tensor_of(self.ptr());
  static_cast<void>(x.item());  // throws unless there is one
  return dispatch_any(x.dtype(), [&]<class E>() -> py::object { return py::cast(x.data<E>()[0]); });
}

// The tensor, of which `name` is printed as grad_fn: of operations that Python composes.
py::handle named(py::handle x, Words name) {
  static auto* const names = new std::set<std::string>;  // they live as long as the program
  if (tensor_of(x.ptr()).requires_grad())
    reinterpret_cast<TensorObject*>(x.ptr())->grad_fn = names->insert(name).first->c_str();
  return x;
}

// Writes values that broadcast to the tensor, recorded if they or the tensor require gradients.
void write(py::handle self, T from, const char* op) {
  const Tensor& x = tensor_of(self.ptr());
  if (!grad_enabled() || (!from.requires_grad() && !x.requires_grad())) return x.detach().copy_(from);
  const Tensor value = from.to(x.dtype()).expand(x.shape()) * 1.0;
  const auto no_gradient = [](T gy) { return gy * 0.0; };
  become(self.ptr(), from.requires_grad() ? value : record(OpName::custom("flat"), value, {{x, no_gradient}}),
         op, /*is_written=*/true);
}

// The tensor becomes one on the values of another, which it shares if they are packed and of its dtype.
void set_data(py::handle self, T from) {
  const Tensor& x = tensor_of(self.ptr());
  if (!from.defined() || from.shape() != x.shape())
    fail("data", "needs values of shape ", x.shape(), ", got ",
         from.defined() ? concat(from.shape()) : "none", ".");
  if (is_floating(x.dtype()) && is_floating(from.dtype()) && x.dtype() != from.dtype())
    fail("data", "needs ", name(x.dtype()), " values, got ", name(from.dtype()),
         ". Hint: convert the module or the tensor.");
  const Tensor values = from.detach().to(x.dtype()).contiguous();
  for (autograd::TensorImpl* const impl : {x.impl(), x.impl()->alias.get()}) {
    if (!impl) continue;
    impl->storage = values.impl()->storage;
    impl->offset = values.impl()->offset;
    impl->strides = values.strides();
    impl->contiguous = true;
  }
}

}  // namespace

// A row is a line; a long one continues in the next.
// clang-format off

void add_operations(Table& t) {
  // -- those of C++
#define FUNCTION(f, ...) __VA_OPT__(add_function<f>(t, __VA_ARGS__);)
#define GRADUS_OPERATION(name, python, ...) FUNCTION(name, python)
#define GRADUS_MEMBER(name, python, ...) FUNCTION(&Tensor::name, python)
#define GRADUS_COMPOSED(name, python) FUNCTION(name, python)
#include "gradus/autograd/graph/operations.def"
  // -- products
  t("addmm baddbmm(input, mat1, mat2, beta=1, alpha=1) Addmm0", [](T x, T a, T b, D beta, D alpha) { return beta == 0 ? matmul(a, b) * alpha : x * beta + matmul(a, b) * alpha; });
  t("outer(input, vec2)", [](T a, T b) { return a.reshape({-1, 1}) * b.reshape({1, -1}); });
  t(":_einsum(equation, operands) View0", [](const std::string& equation, const std::vector<Tensor>& operands) { return einsum(equation, operands); });
  // -- joining and indexing; cat, stack and sort, and relu above, are in place of the rows of operations.def
  t(":cat concat concatenate(tensors, dim=0)", [](const std::vector<Tensor>& all, N dim) { return cat(promoted(all), dim); });
  t(":stack(tensors, dim=0)", [](const std::vector<Tensor>& all, N dim) { return stack(promoted(all), dim); });
  t(":hstack(tensors) Cat0", [](const std::vector<Tensor>& all) { return cat(promoted(all), !all.empty() && all[0].dim() > 1); });
  t(":vstack(tensors) Cat0", [](std::vector<Tensor> all) { for (Tensor& x : all) x = x.dim() > 1 ? x : x.reshape({1, -1}); return cat(promoted(all), 0); });
  t("masked_select(input, mask) MaskedSelect0", [](T x, T mask) { const Shape shape = broadcast_shapes("masked_select", x.shape(), mask.shape()); return x.expand(shape).index({mask.expand(shape)}); });
  t("roll(input, shifts, dims=()) Roll0", of<rolled>);
  t("*index_add(input, dim, index, source, alpha=1)", [](T x, N dim, T index, T source, D alpha) { return index_add(x, dim, index, alpha == 1 ? source : source * alpha); });
  t("*scatter(input, dim, index, src) tensor:Scatter1|Scatter0", [](T x, N dim, T index, O src) { return src.tensor.defined() ? scatter(x, dim, index, src.tensor) : scatter(x, dim, index, src.number); });
  t("argsort(input, dim=-1, descending=False, stable=False)", [](T x, N dim, B descending, B) { return sort(x, dim, descending).indices; });
  t("sort(input, dim=-1, descending=False, stable=False) Sort0", [](T x, N dim, B descending, B) { return sort(x, dim, descending); });
  t("+embedding(input, weight, padding_idx=None) Embedding0", [](T index, T weight, OptionalN padding) { return embedding(weight, index, padding); });
  t("+one_hot(tensor, num_classes=-1)", of<one_hot>);
  // -- views
  t("t(input) T0", [](T x) { if (x.dim() > 2) fail("t", "needs a matrix, got ", x.dim(), " dimensions."); return x.dim() < 2 ? x : x.mT(); });
  t("@T(input)", [](T x) { std::vector<N> dims(static_cast<size_t>(x.dim())); std::iota(dims.rbegin(), dims.rend(), 0); return x.permute(dims); });
  t("@mT(input)", [](T x) { return x.mT(); });
  t(".view(input, *shape)", of<view>);
  t("broadcast_to(input, size)", [](T x, S size) { return x.expand(size); });
  t(".view_as(input, other)", [](T x, T other) { return view(x, other.shape()); });
  t(".expand_as(input, other)", [](T x, T other) { return x.expand(other.shape()); });
  t(".repeat(input, *repeats) Repeat0", of<repeated>);
  t("flip(input, *dims) Flip0", [](Tensor x, I dims) { for (const N d : dims.values) x = index_select(x, d, arange(static_cast<double>(x.size(d) - 1), -1, -1)); return x; });
  t("flatten ravel(input, start_dim=0, end_dim=-1) copy:ReshapeAlias0|UnsafeView0", [](T x, N start, N end) { return x.flatten(start, end); });
  t("squeeze(input, dim=None) dim:Squeeze0|Squeeze1", [](T x, OptionalN dim) { return dim ? x.squeeze(*dim) : x.squeeze(); });
  t("narrow(input, dim, start, length)", of<narrowed>);
  t("split(tensor, split_size_or_sections, dim=0) int:SplitWithSizes0|Split0", [](T x, I sizes, N dim) { return sizes.is_one ? x.split(sizes.values[0], dim) : x.split(sizes.values, dim); });
  t("chunk(input, chunks, dim=0) Split0", [](T x, N chunks, N dim) { return x.chunk(chunks, dim); });
  t("unbind(input, dim=0) Unbind0", of<unbind>);
  t("clone(input) Clone0", of<copied>);
  t(".detach(input)", [](T x) { return x.detach(); });
  t(".cast(input, dtype)", [](T x, DType dtype) { return x.to(dtype); });
  t(".type_as(input, other)", [](T x, T other) { return x.to(other.dtype()); });
  t(".float(input)", [](T x) { return x.to(DType::float32); });
  t(".double(input)", [](T x) { return x.to(DType::float64); });
  t(".long int short byte(input)", [](T x) { return x.to(DType::int64); });
  t(".bool(input)", [](T x) { return x.to(DType::boolean); });
  t(".bfloat16(input)", [](T x) { return x.to(DType::bfloat16); });
  t("mv(input, vec) Mv0", of<matmul>);
  t("tile(input, *dims) Repeat0", [](T x, I dims) { Ints counts = dims; while (std::ssize(counts.values) < x.dim()) counts.values.insert(counts.values.begin(), 1); return repeated(x, counts); });
  t(":triu_indices(row, col, offset=0)", [](N rows, N columns, N offset) { return nonzero(triu(ones({rows, columns}), offset)).mT(); });
  t(":tril_indices(row, col, offset=0)", [](N rows, N columns, N offset) { return nonzero(tril(ones({rows, columns}), offset)).mT(); });
  t(":_named(input, name)", of<named>);
  t("._mark_replaced(input)", [](T x) { x.impl()->replaced = true; });
  // -- values in place; what draws, _tensor.py writes into the tensor
  t(".copy_(input, source)", [](py::handle x, T source) { write(x, source, "copy_"); return x; });
  t(".fill_(input, value)", [](py::handle x, O value) { write(x, value.tensor.defined() ? value.tensor : filled_with({}, value, tensor_of(x.ptr()).dtype()), "fill_"); return x; });
  t(".zero_(input)", [](py::handle x) { write(x, zeros({}), "zero_"); return x; });
  // -- layers and losses
  t("+rotary_embedding(input, offset=0, base=10000.0)", of<static_cast<Tensor (*)(T, N, D)>(rotary_embedding)>);
  t("+cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0) loss:NllLoss0|Add0|Div1", of<cross_entropy_of>);
  t("+dropout(input, p=0.5, training=True, generator=None)", [](T x, D p, B training, G g) { return training ? dropout(x, p, g) : x; });
  t("+scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, window=0, generator=None)", of<attention>);
#ifdef GRADUS_HAS_LAYERS
  t("+batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05) NativeBatchNorm0", of<batch_norm>);
  t("+group_norm(input, num_groups, weight=None, bias=None, eps=1e-05) NativeGroupNorm0", of<group_norm>);
  t("+unfold(input, kernel_size, dilation=1, padding=0, stride=1) Im2Col0", [](T x, I size, I dilation, I padding, I stride) { return unfold(x, size, {dilation, padding, stride}); });
  t("+fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1) Col2Im0", [](T x, I out, I size, I dilation, I padding, I stride) { return fold(x, out, size, {dilation, padding, stride}); });
#define WINDOWS(n, max, avg) \
  t("+conv" #n "d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) Convolution0", \
    [](T x, T weight, T bias, I stride, const Sizes& padding, I dilation, N groups) { return conv##n##d(x, weight, bias, {stride, padding_of(padding), dilation, groups}); }); \
  t("+max_pool" #n "d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False) " max, of<largest<max_pool##n##d_with_indices>>); \
  t("+avg_pool" #n "d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None) " avg, \
    [](T x, I size, I stride, I padding, B ceil, B count, OptionalN divisor) { return avg_pool##n##d(x, size, {stride, padding, ceil, count, divisor}); });
  WINDOWS(1, "Squeeze1", "Squeeze1")
  WINDOWS(2, "MaxPool2DWithIndices0", "AvgPool2D0")
#endif
  // -- making tensors
#define MAKER(f) \
  t(":" #f "(*size, dtype=None, device=None, requires_grad=False)", [](S size, OptionalDtype dtype, V, B grad) { return leaf(f(size, dtype.value_or(DType::float32)), grad); }); \
  t(":" #f "_like(input, dtype=None, device=None, requires_grad=False)", [](T x, OptionalDtype dtype, V, B grad) { return leaf(f(x.shape(), or_of(dtype, x)), grad); }); \
  t(".new_" #f "(input, *size, dtype=None, device=None, requires_grad=False)", [](T x, S size, OptionalDtype dtype, V, B grad) { return leaf(f(size, or_of(dtype, x)), grad); });
  MAKER(zeros)
  MAKER(ones)
  MAKER(empty)
  t(":full(size, fill_value, dtype=None, device=None, requires_grad=False)",
    [](S size, O x, OptionalDtype dtype, V, B grad) { return leaf(filled_with(size, x, dtype.value_or(x.tensor.defined() ? x.tensor.dtype() : x.dtype)), grad); });
  t(":eye(n, m=None, dtype=None, device=None, requires_grad=False)",
    [](N n, OptionalN m, OptionalDtype dtype, V, B grad) { return leaf(raw::clone(eye(std::max(n, m.value_or(n))).slice(0, 0, n).slice(1, 0, m.value_or(n))).to(dtype.value_or(DType::float32)), grad); });
  t(":full_like(input, fill_value, dtype=None, device=None, requires_grad=False)", [](T x, O value, OptionalDtype dtype, V, B grad) { return leaf(filled_with(x.shape(), value, or_of(dtype, x)), grad); });
  t(".new_full(input, size, fill_value, dtype=None, device=None, requires_grad=False)", [](T x, S size, O value, OptionalDtype dtype, V, B grad) { return leaf(filled_with(size, value, or_of(dtype, x)), grad); });
  // -- what a tensor is
  t("numel nelement(input)", [](T x) { return x.numel(); });
  t(".dim(input)", [](T x) { return x.dim(); });
  t(".is_contiguous(input)", [](T x) { return x.is_contiguous(); });
  t("is_floating_point(input)", [](T x) { return is_floating(x.dtype()); });
  t(".item(input)", of<item>);
  t(".size(input, dim=None)", [](T x, OptionalN dim) { return dim ? std::variant<N, Shape>(x.size(*dim)) : x.shape(); });
  t(".stride(input)", [](T x) { return py::tuple(py::cast(std::vector<N>(x.strides().begin(), x.strides().end()))); });
  t(".storage_offset(input)", [](T x) { return x.impl()->offset; });
  t(".element_size(input)", [](T x) { return element_size(x.dtype()); });
  t(".data_ptr(input)", [](T x) { return reinterpret_cast<uintptr_t>(x.raw_data()); });
  t("@shape(input)", [](T x) { return x.shape(); });
  t("@ndim(input)", [](T x) { return x.dim(); });
  t("@dtype(input)", [](T x) { return x.dtype(); });
  t("@grad_fn(input)", [](T x) { return x.requires_grad() && !x.impl()->node->is_leaf() ? std::optional(std::string(x.impl()->node->op)) : std::nullopt; });
  t("@is_leaf(input)", [](T x) { return !x.requires_grad() || x.impl()->node->is_leaf(); });
  t("@_version(input)", [](T x) { return x.impl()->storage->version(); });
  t("@requires_grad(input)", [](T x) { return x.requires_grad(); });
  t("=requires_grad(input, on)", [](py::handle x, B on) { set_requires_grad(x.ptr(), on); });
  t(".requires_grad_(input, requires_grad=True)", [](py::handle x, B on) { set_requires_grad(x.ptr(), on); return x; });
  t("@grad(input)", [](T x) { return x.grad(); });
  t("=grad(input, value)", [](T x, T grad) { grad.defined() ? Tensor(x).set_grad(grad) : Tensor(x).zero_grad(); });
  t("@data(input)", [](T x) { return x.detach(); });
  t("=data(input, value)", of<set_data>);
  t(".__getitem__(input, key) copy:|Index0", [](py::handle x, py::handle key) { return get_item(tensor_of(x.ptr()), key.ptr()); });
  t(".__setitem__(input, key, value)", [](py::handle x, py::handle key, py::handle value) { set_item(x.ptr(), key.ptr(), value.ptr()); });
}

// clang-format on

}  // namespace gradus::python

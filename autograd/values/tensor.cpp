#include "gradus/autograd/values/tensor.hpp"

#include <algorithm>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/values/raw.hpp"

namespace gradus {
namespace {

const TensorImpl& checked(const Tensor& t) {
  if (!t.defined()) fail("tensor", "needs a defined tensor, got none.");
  return *t.impl();
}

bool packed(const Shape& shape, const Shape& strides) {
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

}  // namespace

void destroy(TensorImpl* impl) { delete impl; }

const Shape& Tensor::shape() const { return checked(*this).shape; }
const Shape& Tensor::strides() const { return checked(*this).strides; }
int64_t Tensor::size(int64_t dim) const {
  if (shape().empty()) fail("size", "a scalar has no dimensions, asked for ", dim, ".");
  return shape()[wrap_dim("size", dim, this->dim())];
}
int64_t Tensor::numel() const { return checked(*this).shape.numel(); }
DType Tensor::dtype() const { return checked(*this).dtype; }
bool Tensor::is_contiguous() const { return checked(*this).contiguous; }

const void* Tensor::raw_data() const {
  const TensorImpl& t = checked(*this);
  return t.storage->data() + t.offset * element_size(t.dtype);
}

void* Tensor::raw_mutable_data() {
  const TensorImpl& t = checked(*this);
  t.storage->bump_version();
  return t.storage->data() + t.offset * element_size(t.dtype);
}

void Tensor::check_dtype(DType asked) const {
  if (asked != dtype()) fail("data", "the tensor holds ", name(dtype()), ", asked for ", name(asked), ".");
}

double Tensor::item() const {
  if (numel() != 1) fail("item", "needs a tensor of one element, got shape ", shape(), ".");
  return dispatch_any(dtype(), [&]<class T>() { return static_cast<double>(*data<T>()); });
}

double Tensor::at(std::initializer_list<int64_t> index) const {
  const Shape at(index);
  if (at.size() != dim()) fail("at", "needs ", dim(), " indices for shape ", shape(), ", got ", at, ".");
  int64_t offset = 0;
  for (int i = 0; i < dim(); ++i) {
    const int64_t k = at[i] < 0 ? at[i] + shape()[i] : at[i];
    if (k < 0 || k >= shape()[i]) fail("at", "index ", at, " is outside shape ", shape(), ".");
    offset += k * strides()[i];
  }
  return dispatch_any(dtype(), [&]<class T>() { return static_cast<double>(data<T>()[offset]); });
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor packed = raw::contiguous(*this);
  const T* first = packed.data<T>();
  return std::vector<T>(first, first + packed.numel());
}
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<int64_t> Tensor::to_vector() const;
template std::vector<bool> Tensor::to_vector() const;

void Tensor::copy_(const Tensor& source) { raw::copy_into(*this, source); }
void Tensor::fill_(double value) { raw::copy_into(*this, raw::full({}, value, dtype())); }

bool Tensor::requires_grad() const { return static_cast<bool>(checked(*this).node); }

Tensor& Tensor::requires_grad_(bool on) {
  checked(*this);
  if (impl_->node && !impl_->node->is_leaf())
    fail("requires_grad_", "needs a leaf, got the result of ", impl_->node->op, ". Hint: detach() it first.");
  if (on && !is_floating(dtype())) fail("requires_grad_", "needs floating values, got ", name(dtype()), ".");
  if (on && !impl_->node) impl_->node = Node::leaf(shape(), dtype());
  if (!on) impl_->node = {};
  return *this;
}

Tensor Tensor::grad() const {
  const TensorImpl& t = checked(*this);
  return t.node ? t.node->grad : Tensor();
}

void Tensor::set_grad(const Tensor& grad) {
  if (!requires_grad() || !impl_->node->is_leaf()) fail("set_grad", "needs a leaf that requires a gradient.");
  if (grad.defined() && (grad.shape() != shape() || grad.dtype() != dtype()))
    fail("set_grad", "needs ", name(dtype()), " ", shape(), ", got ", name(grad.dtype()), " ", grad.shape(),
         ".");
  impl_->node->grad = grad;
}

void Tensor::zero_grad() {
  if (requires_grad()) impl_->node->grad = {};
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) const {
  gradus::backward({*this}, {gradient}, retain_graph, create_graph);
}

Tensor Tensor::detach() const { return view_of(*this, shape(), strides(), impl_->offset); }

Tensor empty(const Shape& shape, DType dtype) {
  Ref<TensorImpl> impl(new TensorImpl);
  int64_t bytes = element_size(dtype);
  for (const int64_t size : shape) {
    if (size < 0) fail("empty", "sizes must not be negative, got ", shape, ".");
    if (__builtin_mul_overflow(bytes, size, &bytes)) fail("empty", "too many elements in shape ", shape, ".");
  }
  impl->storage = Ref<Storage>(new Storage(bytes));
  impl->shape = shape;
  impl->strides = contiguous_strides(shape);
  impl->dtype = dtype;
  return Tensor(std::move(impl));
}

Tensor view_of(const Tensor& base, const Shape& shape, const Shape& strides, int64_t offset) {
  const TensorImpl& b = checked(base);
  Ref<TensorImpl> impl(new TensorImpl);
  impl->storage = b.storage;
  impl->offset = offset;
  impl->shape = shape;
  impl->strides = strides;
  impl->dtype = b.dtype;
  impl->contiguous = packed(shape, strides);
  return Tensor(std::move(impl));
}

}  // namespace gradus

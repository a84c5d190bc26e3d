#include "gradus/autograd/tensor/tensor.hpp"

#include <algorithm>

#include "gradus/autograd/tensor/quantized_types.hpp"

namespace gradus {

using autograd::Ref;
using autograd::Storage;
using autograd::TensorImpl;

namespace {

const TensorImpl& checked(const Tensor& t, std::string_view op = "tensor") {
  if (!t.defined()) fail(op, "needs a defined tensor, got none.");
  return *t.impl();
}

bool packed(const Shape& shape, const Shape& strides) {
  int64_t stride = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != stride) return false;
    stride *= shape[i];
  }
  return true;
}

// A tensor outside the graph.
Tensor made(Ref<Storage> storage, const Shape& shape, const Shape& strides, DType dtype, bool is_packed,
            int64_t offset = 0) {
  Ref<TensorImpl> impl(new TensorImpl);
  impl->storage = std::move(storage);
  impl->offset = offset;
  impl->shape = shape;
  impl->strides = strides;
  impl->dtype = dtype;
  impl->contiguous = is_packed;
  return Tensor(std::move(impl));
}

}  // namespace

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
  if (checked(*this, "item").shape.numel() != 1)
    fail<InputError>("item", "needs a tensor of one element, got shape ", shape(), ".");
  return dispatch_any(dtype(), [&]<class T>() { return static_cast<double>(*data<T>()); });
}

double Tensor::at(std::initializer_list<int64_t> index) const {
  const Shape at(index);
  checked(*this, "at");
  if (at.size() != dim()) fail("at", "needs ", dim(), " indices for shape ", shape(), ", got ", at, ".");
  int64_t offset = 0;
  for (int i = 0; i < dim(); ++i) {
    const int64_t k = at[i] < 0 ? at[i] + shape()[i] : at[i];
    if (k < 0 || k >= shape()[i]) fail("at", "index ", at, " is outside shape ", shape(), ".");
    offset += k * strides()[i];
  }
  return dispatch_any(dtype(), [&]<class T>() { return static_cast<double>(data<T>()[offset]); });
}

bool Tensor::requires_grad() const {
  const TensorImpl& t = checked(*this);
  return t.node && !t.frozen;
}

Tensor Tensor::detach() const {
  const TensorImpl& t = checked(*this, "detach");
  return view_of(*this, t.shape, t.strides, t.offset);
}

Tensor empty(const Shape& shape, DType dtype) {
  check_sizes("empty", shape);
  int64_t elements = shape.numel();
  if (is_in_tiles(dtype)) {
    if (shape.size() != 2) fail("empty", name(dtype), " is for matrices, got ", shape, ".");
    elements = (shape[0] + kWeightRows - 1) / kWeightRows * tiles_of(shape[1]);
  }
  const int64_t bytes = elements * element_size(dtype);
  return made(Ref<Storage>(new Storage(bytes)), shape, contiguous_strides(shape), dtype, /*is_packed=*/true);
}

Tensor borrowed(void* data, const Shape& shape, const Shape& strides, DType dtype,
                std::function<void()> release) {
  check_sizes("borrowed", shape);
  if (is_storage(dtype)) fail("borrowed", "needs values to compute with, got ", name(dtype), ".");
  if (shape.numel() > 0 &&
      reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(element_size(dtype)) != 0)
    fail("borrowed", "values must be aligned to ", element_size(dtype),
         " bytes, got others. Hint: copy them.");
  int64_t last = 0;  // the place of the last element
  for (int i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0)
      fail("borrowed", "strides must be at least 0, got ", strides, ". Hint: copy the values.");
    last += std::max<int64_t>(shape[i] - 1, 0) * strides[i];
  }
  auto* const storage = new Storage(
      static_cast<std::byte*>(data), (last + 1) * element_size(dtype), release ? std::move(release) : [] {});
  return made(Ref<Storage>(storage), shape, strides, dtype, packed(shape, strides));
}

Tensor view_of(const Tensor& base, const Shape& shape, const Shape& strides, int64_t offset) {
  const TensorImpl& b = checked(base);
  const bool is_whole = shape == b.shape && strides == b.strides && offset == b.offset;
  if (is_in_tiles(b.dtype) && !is_whole)
    fail("view", name(b.dtype), " values are kept whole, as ", b.shape,
         ", and have no other view. Hint: convert them with to(DType::float32).");
  if (!is_whole) {
    check_sizes("view", shape);
    const int64_t size = b.storage->bytes() / element_size(b.dtype);
    int64_t room = size - 1 - offset;  // elements behind the place
    bool fits = shape.size() == strides.size() && offset >= 0 && (shape.numel() == 0 || room >= 0);
    for (int i = 0; fits && i < shape.size() && shape.numel() > 0; ++i) {
      fits = strides[i] >= 0 && (shape[i] == 1 || strides[i] <= room / (shape[i] - 1));
      room -= fits ? (shape[i] - 1) * strides[i] : 0;
    }
    if (!fits)
      fail("view", "must be within the ", size, " elements of its storage, got ", shape, " with strides ",
           strides, " from ", offset, ".");
  }
  return made(b.storage, shape, strides, b.dtype, packed(shape, strides), offset);
}

}  // namespace gradus

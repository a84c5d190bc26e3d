#include "gradus/autograd/tensor/shape.hpp"

#include <algorithm>
#include <ostream>

#include "gradus/files/error.hpp"

namespace gradus {

Shape::Shape(const int64_t* first, const int64_t* last) {
  if (last - first > kMaxDims)
    fail("shape", "at most ", kMaxDims, " dimensions are supported, got ", last - first, ".");
  std::copy(first, last, dims_);
  size_ = static_cast<int>(last - first);
}

void Shape::insert(int at, int64_t d) {
  if (size_ == kMaxDims)
    fail("shape", "at most ", kMaxDims, " dimensions are supported, got ", size_ + 1, ".");
  std::copy_backward(dims_ + at, dims_ + size_, dims_ + size_ + 1);
  dims_[at] = d;
  ++size_;
}

void Shape::erase(int at) {
  std::copy(dims_ + at + 1, dims_ + size_, dims_ + at);
  --size_;
}

std::ostream& operator<<(std::ostream& os, const Shape& shape) {
  os << '(';
  for (int i = 0; i < shape.size(); ++i) os << (i ? ", " : "") << shape[i];
  return os << (shape.size() == 1 ? ",)" : ")");
}

Shape Shape::index_of(int64_t flat) const {
  Shape index = *this;
  for (int d = size_ - 1; d >= 0; flat /= dims_[d--]) index[d] = flat % dims_[d];
  return index;
}

void check_sizes(std::string_view op, const Shape& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) {
    if (size < 0) fail(op, "sizes must not be negative, got ", shape, ".");
    if (__builtin_mul_overflow(n, std::max<int64_t>(size, 1), &n) || n > kMaxElements)
      fail(op, "a tensor must have at most 2^56 elements, with sizes of 0 counted as 1, got shape ", shape,
           ".");
  }
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides = shape;
  int64_t stride = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

int wrap_dim(std::string_view op, int64_t dim, int dims) {
  const int64_t n = std::max(dims, 1);
  if (dim < -n || dim >= n) fail<PlaceError>(op, "dim must be in [", -n, ", ", n - 1, "], got ", dim, ".");
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const int lead = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    const int64_t x = longer[lead + i], y = shorter[i];
    if (x != y && x != 1 && y != 1) fail(op, "shapes must be equal or broadcast, got ", a, " and ", b, ".");
    out[lead + i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace gradus

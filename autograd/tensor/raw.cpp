#include "gradus/autograd/tensor/raw.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"

namespace gradus::raw {

Tensor full(const Shape& shape, double value, DType dtype) {
  Tensor out = empty(shape, dtype);
  dispatch_any(dtype, [&]<class T>() {
    std::fill_n(out.mutable_data<T>(), out.numel(), number_as<T>("full", value));
  });
  return out;
}

Tensor unary(kernels::Unary op, const Tensor& x) {
  Tensor out = empty(x.shape(), x.dtype());
  const auto loop = loop_over<2>(x.shape(), {&out, &x});
  dispatch_float("unary", x.dtype(),
                 [&]<class T>() { kernels::unary(op, loop, out.mutable_data<T>(), x.data<T>()); });
  return out;
}

Tensor binary(kernels::Binary op, const Tensor& a, const Tensor& b) {
  Tensor out =
      empty(a.shape() == b.shape() ? a.shape() : broadcast_shapes("binary", a.shape(), b.shape()), a.dtype());
  const auto loop = loop_over<3>(out.shape(), {&out, &a, &b});
  dispatch_number("binary", a.dtype(), [&]<class T>() {
    kernels::binary(op, loop, out.mutable_data<T>(), a.data<T>(), b.data<T>());
  });
  return out;
}

Tensor reduce(kernels::Reduce op, const Tensor& x, const std::vector<int64_t>& dims, bool keepdim) {
  bool is_reduced[kMaxDims] = {};
  for (const int64_t d : dims) is_reduced[d] = true;
  Shape shape, squeezed;
  for (int d = 0; d < x.dim(); ++d) {
    shape.push_back(is_reduced[d] ? 1 : x.shape()[d]);
    if (!is_reduced[d]) squeezed.push_back(x.shape()[d]);
  }
  Tensor out = empty(keepdim ? shape : squeezed, x.dtype());
  const Shape out_strides = contiguous_strides(shape);
  kernels::Loop<2> kept;
  kernels::Loop<1> reduced;
  for (int d = 0; d < x.dim(); ++d) {
    if (is_reduced[d]) {
      reduced.size[reduced.dims] = x.shape()[d];
      reduced.stride[0][reduced.dims++] = x.strides()[d];
    } else {
      kept.size[kept.dims] = x.shape()[d];
      kept.stride[0][kept.dims] = out_strides[d];
      kept.stride[1][kept.dims++] = x.strides()[d];
    }
  }
  kept.coalesce();
  reduced.coalesce();
  dispatch_number("reduce", x.dtype(),
                  [&]<class T>() { kernels::reduce(op, kept, reduced, out.mutable_data<T>(), x.data<T>()); });
  return out;
}

static Tensor copy(const Tensor& x, DType dtype) {
  Tensor out = empty(x.shape(), dtype);
  copy_into(out, x);
  return out;
}

Tensor clone(const Tensor& x) { return copy(x, x.dtype()); }
Tensor contiguous(const Tensor& x) { return !x.defined() || x.is_contiguous() ? x : clone(x); }
Tensor converted(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : copy(x, dtype); }

namespace {

Tensor widened(const Tensor& stored) {
  Tensor wide = empty(stored.shape(), DType::float32);
  float* to = wide.mutable_data<float>();
  if (stored.dtype() == DType::bfloat16) {
    kernels::convert(loop_over<2>(wide.shape(), {&wide, &stored}), to, stored.data<bfloat16>());
  } else {
    tile_kernels(stored.dtype()).to_floats(0, stored.size(0), stored.size(1), to, stored.raw_data());
  }
  return wide;
}

// Converts through packed float32, for values that are only stored on one side or both.
void copy_stored(Tensor& target, const Tensor& source) {
  if (is_storage(source.dtype())) return copy_into(target, widened(source));
  if (!target.is_contiguous() || target.shape() != source.shape())
    fail("copy_", name(target.dtype()),
         " values are written as a whole, packed and of the source's shape, got ", target.shape(), " from ",
         source.shape(), ".");
  const Tensor wide = contiguous(converted(source, DType::float32));
  if (target.dtype() == DType::bfloat16)
    return kernels::to_bfloat16(wide.numel(), target.mutable_data<bfloat16>(), wide.data<float>());
  tile_kernels(target.dtype())
      .from_floats(target.size(0), target.size(1), target.raw_mutable_data(), wide.data<float>());
}

// Whether two of its elements may share memory: a stride must step over all that the smaller ones reach.
bool may_overlap_itself(const Tensor& x) {
  std::vector<std::pair<int64_t, int64_t>> steps;  // stride, size
  for (int d = 0; d < x.dim(); ++d)
    if (x.shape()[d] != 1) steps.emplace_back(x.strides()[d], x.shape()[d]);
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace

void copy_into(Tensor& target, const Tensor& source) {
  if (source.impl()->storage == target.impl()->storage && source.numel() > 1)
    return copy_into(target, clone(source));
  if (source.shape() != target.shape() &&
      broadcast_shapes("copy_", source.shape(), target.shape()) != target.shape())
    fail("copy_", "the source must broadcast to ", target.shape(), ", got ", source.shape(), ".");
  if (!target.is_contiguous() && source.numel() > 1 && may_overlap_itself(target))
    fail("copy_", "elements of the target must not share memory, as those of ", target.shape(),
         " with strides ", target.strides(), " do. Hint: take contiguous() first.");
  if (is_storage(source.dtype()) || is_storage(target.dtype())) return copy_stored(target, source);
  const auto loop = loop_over<2>(target.shape(), {&target, &source});
  dispatch_any(source.dtype(), [&]<class S>() {
    dispatch_any(target.dtype(),
                 [&]<class T>() { kernels::convert(loop, target.mutable_data<T>(), source.data<S>()); });
  });
}

void add_into(Tensor& target, const Tensor& source) {
  const auto loop = loop_over<3>(target.shape(), {&target, &target, &source});
  dispatch_number("add_into", target.dtype(), [&]<class T>() {
    T* out = target.mutable_data<T>();
    kernels::binary<T>(kernels::Binary::add, loop, out, out, source.data<T>());
  });
}

bool is_sole_owner(const Tensor& x) {
  return x.impl()->use_count() == 1 && x.impl()->storage->use_count() == 1 &&
         !x.impl()->storage->is_borrowed() && x.is_contiguous();
}

Tensor memory_for_sum(const Tensor& sum, const Shape& shape, DType dtype) {
  return sum.defined() && is_sole_owner(sum) ? sum : empty(shape, dtype);
}

}  // namespace gradus::raw

namespace gradus {

template <class T>
std::vector<T> Tensor::to_vector() const {
  if (!defined()) fail("to_vector", "needs a defined tensor, got none.");
  const Tensor packed = raw::contiguous(*this);
  const T* first = packed.data<T>();
  return std::vector<T>(first, first + packed.numel());
}
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<int64_t> Tensor::to_vector() const;
template std::vector<bool> Tensor::to_vector() const;

}  // namespace gradus

// raw: the values of ops, outside the graph, for the library's ops and engine. Each function allocates its
// result and calls one kernel; the public op has checked the arguments.
#pragma once

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::raw {

/// A number as an element. Throws Error for one that int64 cannot hold: NaN, or beyond 2^63.
template <class T>
T number_as(std::string_view op, double value) {
  if constexpr (std::is_same_v<T, int64_t>)
    if (!(value >= -0x1p63 && value < 0x1p63)) fail(op, "int64 holds no ", value, ".");
  return static_cast<T>(value);
}
Tensor full(const Shape& shape, double value, DType dtype);
Tensor unary(kernels::Unary op, const Tensor& x);
/// Broadcasts.
Tensor binary(kernels::Binary op, const Tensor& a, const Tensor& b);
inline Tensor add(const Tensor& a, const Tensor& b) { return binary(kernels::Binary::add, a, b); }
Tensor reduce(kernels::Reduce op, const Tensor& x, const std::vector<int64_t>& dims, bool keepdim);

/// A packed copy, always.
Tensor clone(const Tensor& x);
/// x itself, or a packed copy; an undefined x stays undefined.
Tensor contiguous(const Tensor& x);
/// The first element of x, or nullptr if x is undefined.
template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}
template <class T>
T* data_or_null(Tensor& x) {
  return x.defined() ? x.mutable_data<T>() : nullptr;
}
/// x itself if it has the dtype, or a packed copy.
Tensor converted(const Tensor& x, DType dtype);
/// target = source, broadcast and converted.
void copy_into(Tensor& target, const Tensor& source);
/// target += source, of equal shape.
void add_into(Tensor& target, const Tensor& source);
/// Whether no other handle shares the values, and they are packed.
bool is_sole_owner(const Tensor& x);
/// Memory for a gradient and a Sums::take(): that of the sum if nothing else shares it.
Tensor memory_for_sum(const Tensor& sum, const Shape& shape, DType dtype);

/// The kernels of the annex `fast` for a dtype in tiles. Throws Error if the build lacks them.
inline const kernels::TileKernels& tile_kernels(DType dtype) {
  return kernels::needed(kernels::fast_kernels().tiles, "to", name(dtype))[tile_type(dtype)];
}

/// Operands walked together over `shape`, operand 0 first; smaller operands broadcast.
template <int N>
kernels::Loop<N> loop_over(const Shape& shape, const Tensor* const (&operands)[N]) {
  kernels::Loop<N> loop{};
  loop.dims = shape.size();
  for (int d = 0; d < shape.size(); ++d) loop.size[d] = shape[d];
  for (int i = 0; i < N; ++i) {
    const Tensor& t = *operands[i];
    const int lead = shape.size() - t.dim();
    for (int d = lead; d < shape.size(); ++d)
      loop.stride[i][d] = t.shape()[d - lead] == 1 ? 0 : t.strides()[d - lead];
  }
  loop.coalesce();
  return loop;
}

}  // namespace gradus::raw

// Checks that many ops share.
#pragma once

#include <cmath>
#include <initializer_list>
#include <string_view>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

using autograd::Dims;

inline void check_defined(std::string_view op, const Tensor& x) {
  if (!x.defined()) fail(op, "needs a defined tensor, got none.");
}

inline void check_floating(std::string_view op, const Tensor& x) {
  check_defined(op, x);
  if (!is_floating(x.dtype())) fail(op, "needs float32 or float64 values, got ", name(x.dtype()), ".");
}

inline void check_number(std::string_view op, const Tensor& x) {
  if (!is_number(x.dtype()))
    fail(op, "needs float32, float64 or int64 values, got ", name(x.dtype()),
         ". Hint: convert them with to().");
}

inline void check_same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  check_defined(op, a);
  check_defined(op, b);
  if (a.dtype() != b.dtype())
    fail(op, "operands must have one dtype, got ", name(a.dtype()), " and ", name(b.dtype()),
         ". Hint: convert one with to().");
}

/// An int64 index whose values lie in [0, size).
void check_index(std::string_view op, const Tensor& index, int64_t size);

/// The dimensions of x that normalized_shape names, its last ones; checks it, and that the parameters, where
/// defined, are of that shape and of x's dtype.
Dims normalized_dims(std::string_view op, const Tensor& x, const Shape& normalized_shape,
                     std::initializer_list<Tensor> parameters);

/// The dtype in which an op takes x and a number: that of x, but float32 where x is int64 or bool and the
/// number is not one of its values, as PyTorch promotes.
inline DType dtype_beside(const Tensor& x, double number) {
  const bool whole = number == std::trunc(number) && number >= -0x1p63 && number < 0x1p63;
  if (x.dtype() == DType::int64) return whole ? DType::int64 : DType::float32;
  if (x.dtype() == DType::boolean) return number == 0 || number == 1 ? DType::boolean : DType::float32;
  return x.dtype();
}

/// x, and the number as a 0-d tensor, in that dtype.
inline Tensor beside(const Tensor& x, double number) { return x.to(dtype_beside(x, number)); }
inline Tensor number(const Tensor& x, double value) { return full({}, value, dtype_beside(x, value)); }

}  // namespace gradus

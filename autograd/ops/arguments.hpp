// Checks that many ops share.
#pragma once

#include <string_view>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/values/tensor.hpp"

namespace gradus {

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

/// The number as a 0-d tensor that goes with x.
inline Tensor number(const Tensor& x, double value) { return full({}, value, x.dtype()); }

}  // namespace gradus

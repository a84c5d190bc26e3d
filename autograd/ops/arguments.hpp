// Shared by the definitions of ops: checks, numbers as operands, means, rules of fused ops. Internal.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/graph/trace.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {

using autograd::Dims;

/// Returns x.
inline const Tensor& check_defined(std::string_view op, const Tensor& x) {
  if (!x.defined()) fail(op, "needs a defined tensor, got none.");
  return x;
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

/// The dtype for operands of different dtypes, as in PyTorch the higher of bool, int64 and floating; none if
/// they have one. Throws Error for two floating ones: whether to round or to widen is for the program to say.
inline std::optional<DType> mixed_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  check_defined(op, a);
  check_defined(op, b);
  const DType x = a.dtype(), y = b.dtype();
  if (x == y) return {};
  if (is_storage(x) || is_storage(y) || (is_floating(x) && is_floating(y))) check_same_dtype(op, a, b);
  return is_floating(x) ? x : is_floating(y) ? y : DType::int64;
}

/// Throws Error unless index is int64 with values in [0, size).
void check_index(std::string_view op, const Tensor& index, int64_t size);

/// The last dimensions of x, whose sizes are normalized_shape. Throws Error for another shape, and for
/// defined parameters that do not have this shape and x's dtype.
Dims normalized_dims(std::string_view op, const Tensor& x, const Shape& normalized_shape,
                     std::initializer_list<Tensor> parameters);

/// The dtype in which an op takes x and a number: that of x, but float32 if x is int64 or bool and the number
/// is not one of its values, as PyTorch promotes.
inline DType promoted_dtype(const Tensor& x, double number) {
  const bool whole = number == std::trunc(number) && number >= -0x1p63 && number < 0x1p63;
  if (x.dtype() == DType::int64) return whole ? DType::int64 : DType::float32;
  if (x.dtype() == DType::boolean) return number == 0 || number == 1 ? DType::boolean : DType::float32;
  return x.dtype();
}

/// x, and the number as a 0-d tensor, in that dtype.
inline Tensor promoted(const Tensor& x, double number) { return x.to(promoted_dtype(x, number)); }
inline Tensor number(const Tensor& x, double value) { return full({}, value, promoted_dtype(x, value)); }

/// `shape` with size n in dimension d.
inline Shape resized(Shape shape, int d, int64_t n) {
  shape[d] = n;
  return shape;
}

/// Sizes on both sides of a dimension of a packed tensor; a scalar counts as (1, 1, 1).
struct Sides {
  Sides(const Shape& shape, int dim) {
    for (int d = 0; d < shape.size(); ++d) (d < dim ? outer : d > dim ? inner : size) *= shape[d];
  }
  int64_t outer = 1, size = 1, inner = 1;
};

/// total / count. A count of 0 gives NaN with the gradients of `total`, which are 0, not 0 / 0.
inline Tensor mean_of(const Tensor& total, int64_t count) {
  if (count == 0) return total + std::numeric_limits<double>::quiet_NaN();
  return total / static_cast<double>(count);
}

/// The losses, their sum, or that divided by the count. Throws Error for batchmean.
Tensor reduced(std::string_view op, const Tensor& losses, Reduction reduction, int64_t count);

/// x - mean(x) over dims. The mean of large values is rounded coarsely, so the rest is subtracted too.
inline Tensor centred(const Tensor& x, const Dims& dims) {
  const Tensor near = x - mean(x, dims, /*keepdim=*/true);
  return near - mean(near, dims, /*keepdim=*/true);
}

/// Packed x after dropout by these words, outside the graph; of ones, the factors that dropout multiplies by.
Tensor dropped(const Tensor& x, double p, Generator::Range words);

/// The checks of swiglu().
void check_swiglu(const Tensor& gate, const Tensor& up);

/// gx of gelu(x), exact and in its tanh form.
Tensor gelu_rule(const Tensor& gy, const Tensor& x);
Tensor gelu_tanh_rule(const Tensor& gy, const Tensor& x);
/// The gradients of gate and up.
std::vector<Tensor> swiglu_rule(const Tensor& gy, const Tensor& gate, const Tensor& up);

}  // namespace gradus

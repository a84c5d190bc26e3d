// Elementwise kernels: out[i] = f(x[i], ...) over strided operands.
//
// Pointers belong to the caller and cover what the loop touches; `out` may be one of the inputs when it is
// walked with the same strides, and may not overlap them otherwise. Thread-safe; large loops run on several
// threads. The bits of an element do not depend on its position, on the shape, or on the number of threads.
// For float, exp, log, tanh, sigmoid, erf and their compositions are polynomials within a few ulp; for
// double they are those of the C library. NaN in gives NaN out, unless said otherwise.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/isa/loop.hpp"

namespace gradus::kernels {

/// gelu and silu take -inf to -0 and +inf to +inf; sign of a zero and of NaN is 0. operations.def has
/// them all, as it has those of Binary.
enum class Unary {
#define GRADUS_UNARY(name, ...) name,
#include "gradus/autograd/kernels/elementwise/operations.def"
  count
};

/// maximum and minimum give NaN when either operand is NaN. The *_grad are gradients, fused: the first
/// operand is the gradient of the output, the second the input x; for tanh_grad and sigmoid_grad the output
/// y. At 0 relu's is 0.
enum class Binary {
#define GRADUS_BINARY(name, ...) name,
#include "gradus/autograd/kernels/elementwise/operations.def"
  count
};

enum class Compare { eq, ne, lt, le, gt, ge };

/// One operand of a binary loop may be a single value.
enum class Operands { both, a_single, b_single, count };

/// The loops, by operation.
template <class T>
struct ElementwiseLoops {
  void (*unary[static_cast<int>(Unary::count)])(int64_t n, T* out, const T* x);
  void (*binary[static_cast<int>(Binary::count)][static_cast<int>(Operands::count)])(int64_t n, T* out,
                                                                                     const T* a, const T* b);
};

/// out = op(x). T: float, double.
template <class T>
void unary(Unary op, const Loop<2>& loop, T* out, const T* x);

/// out = op(a, b). T: float, double; int64_t for add, sub, mul, pow (b >= 0; all modulo 2^64), maximum and
/// minimum.
template <class T>
void binary(Binary op, const Loop<3>& loop, T* out, const T* a, const T* b);

/// out = a op b, with IEEE rules: a comparison with NaN is false, `ne` true. T: all four dtypes.
template <class T>
void compare(Compare op, const Loop<3>& loop, bool* out, const T* a, const T* b);

/// out = cond ? a : b. T: all four dtypes.
template <class T>
void where(const Loop<4>& loop, T* out, const bool* cond, const T* a, const T* b);

/// out = mask ? value : x. T: float, double.
template <class T>
void masked_fill(const Loop<3>& loop, T* out, const T* x, const bool* mask, T value);

/// out = x limited to [min, max]; NaN stays NaN, and min > max gives max. T: float, double.
template <class T>
void clamp(const Loop<2>& loop, T* out, const T* x, T min, T max);

/// out = T(x), for every pair of the four dtypes; a copy when S is T. To bool: x != 0 (NaN is true). To
/// int64_t: towards zero, and the smallest int64_t for NaN and values that do not fit.
template <class S, class T>
void convert(const Loop<2>& loop, T* out, const S* x);

}  // namespace gradus::kernels

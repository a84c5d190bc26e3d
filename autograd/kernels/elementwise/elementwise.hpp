// Elementwise kernels: out[i] = f(x[i], ...), over strided operands if they take a Loop, else packed.
//
// `out` may be an input that has the same strides; else it may not overlap the inputs. The bits of an element
// do not depend on its position, the shape or the number of threads. For float, exp, log, tanh, sigmoid, erf
// and their compositions are polynomials within a few ulp; for double they are the C library's. A NaN input
// gives a NaN output unless stated otherwise.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "gradus/autograd/kernels/elementwise/loop.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus {

/// The upper half of a float32.
struct bfloat16 {
  uint16_t bits;
};

}  // namespace gradus

namespace gradus::kernels {

/// operations.def defines the operations. gelu and silu map -inf to -0 and +inf to +inf; the sign of a zero
/// and of NaN is 0.
enum class Unary {
#define GRADUS_UNARY(name, ...) name,
#include "gradus/autograd/kernels/elementwise/operations.def"
  count
};

/// maximum and minimum give NaN if either operand is NaN. The *_grad are fused gradients: the first operand
/// is the output's gradient, the second the input x, for tanh_grad and sigmoid_grad the output y. The
/// gradient of relu at 0 is 0.
enum class Binary {
#define GRADUS_BINARY(name, ...) name,
#include "gradus/autograd/kernels/elementwise/operations.def"
  count
};

enum class Compare { eq, ne, lt, le, gt, ge };

/// Which operand of a binary loop is a single value.
enum class Operands { both, a_single, b_single, count };

/// Loops over packed elements, by operation.
template <class T>
struct ElementwiseLoops {
  void (*unary[static_cast<int>(Unary::count)])(int64_t n, T* out, const T* x);
  void (*binary[static_cast<int>(Binary::count)][static_cast<int>(Operands::count)])(int64_t n, T* out,
                                                                                     const T* a, const T* b);
};

/// out = op(x). T: float, double.
template <class T>
void unary(Unary op, const Loop<2>& loop, T* out, const T* x);

/// out = op(a, b). T: float, double; int64_t but for div (b >= 0 in pow; modulo 2^64).
template <class T>
void binary(Binary op, const Loop<3>& loop, T* out, const T* a, const T* b);

/// out = a op b, with IEEE rules: a comparison with NaN is false, `ne` true. T: all four dtypes.
template <class T>
void compare(Compare op, const Loop<3>& loop, bool* out, const T* a, const T* b) {
  const auto with = [&](auto f) { walk_each(loop, f, out, a, b); };
  if (op == Compare::eq) return with(std::equal_to<T>());
  if (op == Compare::ne) return with(std::not_equal_to<T>());
  if (op == Compare::lt) return with(std::less<T>());
  if (op == Compare::le) return with(std::less_equal<T>());
  if (op == Compare::gt) return with(std::greater<T>());
  with(std::greater_equal<T>());
}

/// out = cond ? a : b. T: all four dtypes.
template <class T>
void where(const Loop<4>& loop, T* out, const bool* cond, const T* a, const T* b) {
  walk_each(
      loop, [](bool c, T x, T y) { return c ? x : y; }, out, cond, a, b);
}

/// out = mask ? value : x. T: float, double.
template <class T>
void masked_fill(const Loop<3>& loop, T* out, const T* x, const bool* mask, T value) {
  walk_each(
      loop, [value](T v, bool m) { return m ? value : v; }, out, x, mask);
}

/// out = x limited to [min, max]; NaN stays NaN, and min > max gives max. T: float, double.
template <class T>
void clamp(const Loop<2>& loop, T* out, const T* x, T min, T max) {
  walk_each(
      loop,
      [=](T v) {
        const T raised = v < min ? min : v;
        return raised > max ? max : raised;
      },
      out, x);
}

/// x as T; see convert().
template <class S, class T>
T converted(S x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x != S{0};
  } else if constexpr (std::is_same_v<T, int64_t> && std::is_floating_point_v<S>) {
    constexpr S kLimit = static_cast<S>(0x1p63);
    return x >= -kLimit && x < kLimit ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min();
  } else if constexpr (std::is_same_v<S, bfloat16>) {
    return std::bit_cast<float>(uint32_t{x.bits} << 16);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t nearest = bits + 0x7FFF + (bits >> 16 & 1);
    const uint32_t quiet_nan = bits | 0x400000;  // rounding could make a NaN infinite
    return {static_cast<uint16_t>((std::isnan(x) ? quiet_nan : nearest) >> 16)};
  } else {
    return static_cast<T>(x);
  }
}

/// out = T(x) for every pair of the four dtypes. To bool: x != 0 (NaN is true). To int64_t: rounds towards
/// zero; the smallest int64_t for NaN and values that do not fit.
template <class S, class T>
void convert(const Loop<2>& loop, T* out, const S* x) {
  walk_each(
      loop, [](S v) { return converted<S, T>(v); }, out, x);
}

/// Rounds to nearest, ties to even; NaN stays NaN. (n) each.
void to_bfloat16(int64_t n, bfloat16* out, const float* x);
/// Converts exactly, (n) each.
void from_bfloat16(int64_t n, float* out, const bfloat16* x);

/// Loops of SwiGLU (Shazeer, "GLU variants improve transformer", arXiv 2002.05202).
template <class T>
struct SwigluLoops {
  void (*forward)(int64_t n, T* y, const T* gate, const T* up);
  void (*grad)(int64_t n, T* ggate, T* gup, const T* gy, const T* gate, const T* up);
};

/// y = silu(gate) * up, (n) each.
template <class T>
void swiglu(int64_t n, T* y, const T* gate, const T* up) {
  loop_over_chunks(n, kRowsChunk, isa_loops<SwigluLoops<T>>().forward, y, gate, up);
}

/// ggate = gy * up * silu'(gate) and gup = gy * silu(gate), gy the gradient of y; ggate may be gy.
template <class T>
void swiglu_grad(int64_t n, T* ggate, T* gup, const T* gy, const T* gate, const T* up) {
  loop_over_chunks(n, kRowsChunk, isa_loops<SwigluLoops<T>>().grad, ggate, gup, gy, gate, up);
}

template <class T>
struct DropoutLoops {
  void (*dropout)(int64_t n, T* out, const T* x, uint32_t threshold, T scale, uint64_t key, uint64_t block);
};

/// out[i] = keep(i) ? x[i] / (1 - p) : 0, 0 <= p <= 1. keep(i): word i % 4 of block offset + i / 4 of the
/// key's Philox stream (counter_hi 0), times 2^-32, is at least p; so backward can draw the mask again.
template <class T>
void dropout(int64_t n, T* out, const T* x, double p, uint64_t key, uint64_t offset) {
  const double threshold = std::ceil(p * 0x1p32);  // word * 2^-32 >= p exactly when word >= threshold
  if (threshold >= 0x1p32) {
    std::fill_n(out, n, T{0});
    return;
  }
  const T scale = static_cast<T>(1.0 / (1.0 - p));
  parallel_for(n, kElementsChunk, [&](int64_t begin, int64_t end) {
    isa_loops<DropoutLoops<T>>().dropout(end - begin, out + begin, x + begin,
                                         static_cast<uint32_t>(threshold), scale, key,
                                         offset + static_cast<uint64_t>(begin) / 4);
  });
}

}  // namespace gradus::kernels

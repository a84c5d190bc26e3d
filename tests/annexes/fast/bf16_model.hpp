// What the units of products in bfloat16 compute, one number after the other: the oracle of their kernels.
//
// Operations as Intel's Software Developer's Manual, volume 2, states them for VDPBF16PS and TDPBF16PS.
#pragma once

#include "autograd/kernels/plain.hpp"
#include "gradus/annexes/fast/bf16/bf16_product.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace bf16_model {

using gradus::bfloat16;
using namespace gradus::kernels;

inline constexpr int64_t kDepth = 32;

// Builtins, because nothing is inlined in tests.
inline float value(bfloat16 x) { return __builtin_bit_cast(float, uint32_t{x.bits} << 16); }

inline float flushed(float x) {
  const float size = x < 0 ? -x : x;
  return size < 0x1p-126F ? __builtin_copysignf(0.0F, x) : x;
}

/// Inputs that are subnormal are 0, and so is such a result; rounded to the nearest, to even at half.
inline float fused_flushed(float a, float b, float c) {
  return flushed(__builtin_fmaf(flushed(a), flushed(b), flushed(c)));
}

/// sum + a . b for kDepth numbers.
using Dot = float (*)(float sum, const bfloat16* a, const bfloat16* b);

/// One product after the other. Of two bfloat16 it is exact but where it overflows or is subnormal.
inline float dot_widened(float sum, const bfloat16* a, const bfloat16* b) {
  for (int64_t k = 0; k < kDepth; ++k) sum = __builtin_fmaf(value(a[k]), value(b[k]), sum);
  return sum;
}

/// The same where nothing multiplies and adds at once.
inline float dot_rounded_twice(float sum, const bfloat16* a, const bfloat16* b) {
  for (int64_t k = 0; k < kDepth; ++k) sum = value(a[k]) * value(b[k]) + sum;
  return sum;
}

/// VDPBF16PS: of each pair the second product is added first.
inline float dot_avx512_bf16(float sum, const bfloat16* a, const bfloat16* b) {
  for (int64_t k = 0; k < kDepth; k += 2)
    for (const int64_t i : {k + 1, k}) sum = fused_flushed(value(a[i]), value(b[i]), sum);
  return sum;
}

/// TDPBF16PS: a sum of first products and one of second ones, both from 0, are added, and that to the sum.
inline float dot_amx(float sum, const bfloat16* a, const bfloat16* b) {
  float parts[2] = {0, 0};
  for (int64_t k = 0; k < kDepth; ++k) parts[k % 2] = fused_flushed(value(a[k]), value(b[k]), parts[k % 2]);
  return flushed(flushed(sum) + flushed(parts[0] + parts[1]));
}

inline Dot dot_of(Bf16Unit unit) {
  return unit == Bf16Unit::amx ? dot_amx : unit == Bf16Unit::avx512_bf16 ? dot_avx512_bf16 : dot_widened;
}

/// What the sum at (i, j) begins with.
using Start = std::function<float(int64_t i, int64_t j)>;
inline const Start from_zero = [](int64_t, int64_t) { return 0.0F; };

/// A product's operands as plain numbers, rounded: a (m, k), b (n, k), which is to be transposed.
struct Bf16Operands {
  int64_t m, n, k;
  std::vector<float> a, b;
  std::vector<bfloat16> left, right;  // with k a multiple of kDepth

  Bf16Operands(int64_t m_, int64_t n_, int64_t k_)
      : Bf16Operands(m_, n_, k_, vectors::values<float>(m_ * k_, 3, 1),
                     vectors::values<float>(n_ * k_, 2, 5)) {}
  Bf16Operands(int64_t m_, int64_t n_, int64_t k_, std::vector<float> a_, std::vector<float> b_)
      : m(m_), n(n_), k(k_), a(std::move(a_)), b(std::move(b_)), left(rounded(m, a)), right(rounded(n, b)) {}

  /// Whether the halves of k have sums of their own, as bf16_product.hpp says.
  bool has_two_sums() const { return k >= 1024 && m * n <= 1048576 && k * (m + n) >= 8 * m * n; }
  int64_t padded() const { return (k + kDepth - 1) / kDepth * kDepth; }

  PackedBf16 packed_left() const {
    PackedBf16 packed = packed_matrix(Side::left, m, k);
    pack(Trans::no, a.data(), k, packed);
    return packed;
  }
  PackedBf16 packed_right() const {
    PackedBf16 packed = packed_matrix(Side::right, k, n);
    pack(Trans::yes, b.data(), k, packed);
    return packed;
  }

  /// c (m, n), whose sums begin with start(i, j).
  std::vector<float> product(Dot dot, const Start& start = from_zero) const {
    std::vector<float> c(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const auto add = [&](float sum, int64_t begin, int64_t end) {
          for (int64_t at = begin; at < end; at += kDepth)
            sum = dot(sum, left.data() + i * padded() + at, right.data() + j * padded() + at);
          return sum;
        };
        const int64_t middle = has_two_sums() ? padded() / kDepth / 2 * kDepth : padded();
        const float first = add(start(i, j), 0, middle);
        c[static_cast<size_t>(i * n + j)] = has_two_sums() ? first + add(0.0F, middle, padded()) : first;
      }
    return c;
  }

 private:
  std::vector<bfloat16> rounded(int64_t rows, const std::vector<float>& x) const {
    std::vector<bfloat16> out(static_cast<size_t>(rows * padded()));
    for (int64_t i = 0; i < rows; ++i) to_bfloat16(k, out.data() + i * padded(), x.data() + i * k);
    return out;
  }
};

inline constexpr float kUntouched = 1234.5F;

/// c of a product by a kernel, its rows `beyond` further apart than they are long; what is between them must
/// stay as it was. c is `old` before; without a bias sums start with it, and with the same in another matrix.
inline std::vector<float> product(const Bf16Kernel& kernel, const PackedBf16& left, const PackedBf16& right,
                                  ProductStart start = {}, int64_t beyond = 0,
                                  const std::vector<float>& old = {}) {
  const int64_t m = left.rows, n = right.columns, ldc = n + beyond;
  std::vector<float> c(static_cast<size_t>(std::max<int64_t>(1, m * ldc)), kUntouched), packed;
  for (int64_t i = 0; i < m && !old.empty(); ++i) std::copy_n(old.begin() + i * n, n, c.begin() + i * ldc);
  const std::vector<float> from = c;
  const bool adds = !old.empty() && !start.bias;
  if (adds) start.from = c.data();
  multiply_bf16(left, right, c.data(), ldc, start, kernel);
  if (adds) {
    std::vector<float> other(c.size(), kUntouched);
    multiply_bf16(left, right, other.data(), ldc, {.from = from.data()}, kernel);
    CHECK(vectors::same_bits(c, other));
  }
  int64_t touched = 0;
  for (int64_t i = 0; i < m; ++i) {
    packed.insert(packed.end(), c.begin() + i * ldc, c.begin() + i * ldc + n);
    touched += std::count_if(c.begin() + i * ldc + n, c.begin() + (i + 1) * ldc,
                             [](float x) { return x != kUntouched; });
  }
  CHECK(touched == 0);
  return packed;
}

inline bool has(Bf16Unit unit) {
  const std::vector<Bf16Unit> units = available_isas<Bf16Unit>();
  return std::find(units.begin(), units.end(), unit) != units.end();
}

/// Says once which units' own kernels no test can run here.
inline void name_missing_units() {
  static bool named = false;
  if (std::exchange(named, true)) return;
  for (const Bf16Unit unit : {Bf16Unit::avx512_bf16, Bf16Unit::amx})
    if (!has(unit)) WARN("skipped: this machine, or its compiler, has no unit " << isa_name(unit));
}

/// Runs a body for each unit that this machine has, at each level, and leaves the best in use.
template <class F>
void at_each_unit(F&& body) {
  name_missing_units();
  const std::vector<Bf16Unit> units = available_isas<Bf16Unit>();
  for (const Bf16Unit unit : units) {
    set_isa<Bf16Unit>(isa_name(unit));
    INFO("unit " << isa_name(unit));
    vectors::at_each_level([&] { body(unit); });
  }
  set_isa<Bf16Unit>(isa_name(units.front()));
}

}  // namespace bf16_model

#include "gradus/autograd/kernels/bfloat16.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/parallel.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kBlock = 16384;             // elements
constexpr int64_t kSmall = int64_t{1} << 18;  // weights that one thread reads sooner than it could share them
constexpr int64_t kRows = 4;                  // of w, multiplied with one row of x at a time

uint16_t rounded(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return static_cast<uint16_t>((bits >> 16) | 0x40);  // quiet, and not rounded to infinity
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

void to_bfloat16(int64_t n, bfloat16* out, const float* x) {
  parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i].bits = rounded(x[i]);
  });
}

void from_bfloat16(int64_t n, float* out, const bfloat16* x) {
  parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = std::bit_cast<float>(uint32_t{x[i].bits} << 16);
  });
}

template <class T>
void linear_bfloat16(int64_t m, int64_t n, int64_t k, T* y, const T* x, const bfloat16* w, const T* bias) {
  const auto dots = level_kernels<T>().dots_bfloat16;
  const int64_t groups = (n + kRows - 1) / kRows;
  const int64_t work = std::max<int64_t>(1, m * kRows * k);
  parallel_for(groups, std::max<int64_t>(1, kSmall / work), [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * kRows, count = std::min(kRows, n - first);
      const bfloat16* rows[kRows];
      for (int64_t r = 0; r < kRows; ++r) rows[r] = w + (first + std::min(r, count - 1)) * k;
      for (int64_t i = 0; i < m; ++i) {
        T sums[kRows];
        dots(k, x + i * k, rows, sums);
        for (int64_t r = 0; r < count; ++r) y[i * n + first + r] = sums[r] + (bias ? bias[first + r] : T{0});
      }
    }
  });
}

template void linear_bfloat16(int64_t, int64_t, int64_t, float*, const float*, const bfloat16*, const float*);
template void linear_bfloat16(int64_t, int64_t, int64_t, double*, const double*, const bfloat16*,
                              const double*);

}  // namespace gradus::kernels

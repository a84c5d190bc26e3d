// Products of a few rows with a matrix of weights, as in generating a token: as long as reading them once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// sums[r] = the dot product of x (n) and rows[r] (n), for four rows.
template <class T>
struct DotsLoops {
  void (*dots)(int64_t n, const T* x, const T* const* rows, T* sums);
  void (*of_bfloat16)(int64_t n, const T* x, const bfloat16* const* rows, T* sums);
};

/// y (m, n) = x (m, k) @ w (n, k)^T + bias (n), sums in T; w, y and bias are contiguous, rows of x ldx apart,
/// bias may be nullptr. The bits of an element of y depend on its row of x, its row of w and its bias only.
/// W: T, or bfloat16, which BLAS does not support; then m may be any number.
template <class T, class W>
void linear_few_rows(int64_t m, int64_t n, int64_t k, T* y, const T* x, int64_t ldx, const W* w,
                     const T* bias) {
  constexpr int64_t kSmallRead = int64_t{1}
                                 << 18;  // weights that one thread reads faster than it shares them
  constexpr int64_t kStreams = 4;        // several streams read memory a third faster than one
  const auto dots = [] {
    if constexpr (std::is_same_v<T, W>) return isa_loops<DotsLoops<T>>().dots;
    if constexpr (!std::is_same_v<T, W>) return isa_loops<DotsLoops<T>>().of_bfloat16;
  }();
  parallel_for(n, grain_of(kSmallRead, kStreams * m * k) * kStreams, [&](int64_t begin, int64_t end) {
    const int64_t length = ceil_div(end - begin, kStreams);
    for (int64_t i = 0; i < length; ++i) {
      int64_t at[kStreams];
      const W* rows[kStreams];
      for (int64_t s = 0; s < kStreams; ++s) {
        at[s] = std::min(begin + s * length + i, end - 1);
        rows[s] = w + at[s] * k;
      }
      for (int64_t row = 0; row < m; ++row) {
        T sums[kStreams];
        dots(k, x + row * ldx, rows, sums);
        for (int64_t s = 0; s < kStreams; ++s) y[row * n + at[s]] = sums[s] + (bias ? bias[at[s]] : T{0});
      }
    }
  });
}

}  // namespace gradus::kernels

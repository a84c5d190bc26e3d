// Layer normalisation of the rows of a contiguous matrix (Ba, Kiros and Hinton, "Layer normalization", 2016).
//
// Pointers belong to the caller; outputs must not overlap inputs. Thread-safe; gradients of weight and bias
// are summed over fixed blocks of rows, so the bits do not depend on the number of threads. T: float, double.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/rows.hpp"

namespace gradus::kernels {

/// Of one row.
template <class T>
struct LayerNormLoops {
  /// mean: 2 numbers that add up to it.
  void (*forward)(int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias);
  void (*gx)(int64_t cols, T* gx, const T* gy, const T* x, const T* mean, T rstd, const T* weight);
  /// gw += gy * xhat, gb += gy; either may be nullptr.
  void (*gw)(int64_t cols, T* gw, T* gb, const T* gy, const T* x, const T* mean, T rstd);
};

/// y = (x - mean) * rstd * weight + bias by row, rstd = 1 / sqrt(variance + eps) with the biased variance,
/// taken in a second pass so that a large mean does not hurt it; mean (rows, 2), in two parts that are
/// rounded apart, and rstd (rows) are kept for the gradient. weight and bias (cols) may be nullptr. x: (rows,
/// cols) -> (rows, cols).
template <class T>
void layer_norm(int64_t rows, int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight,
                const T* bias) {
  for_each_row(rows, cols, [&](int64_t r) {
    isa_loops<LayerNormLoops<T>>().forward(cols, eps, y + r * cols, mean + 2 * r, rstd + r, x + r * cols,
                                           weight, bias);
  });
}

/// gx (rows, cols), gw and gb (cols) of layer_norm, from gy and what it kept; any of the three may be
/// nullptr, and so may weight.
template <class T>
void layer_norm_grad(int64_t rows, int64_t cols, T* gx, T* gw, T* gb, const T* gy, const T* x, const T* mean,
                     const T* rstd, const T* weight) {
  const int64_t blocks = (rows + kGradRows - 1) / kGradRows;
  std::vector<T> sums(static_cast<size_t>((gw || gb) ? 2 * blocks * cols : 0));
  parallel_for(rows, kGradRows, [&](int64_t begin, int64_t end) {
    T* block_gw = gw ? sums.data() + 2 * (begin / kGradRows) * cols : nullptr;
    T* block_gb = gb ? sums.data() + (2 * (begin / kGradRows) + 1) * cols : nullptr;
    for (int64_t r = begin; r < end; ++r) {
      const T *g = gy + r * cols, *row = x + r * cols;
      if (gx) isa_loops<LayerNormLoops<T>>().gx(cols, gx + r * cols, g, row, mean + 2 * r, rstd[r], weight);
      if (gw || gb)
        isa_loops<LayerNormLoops<T>>().gw(cols, block_gw, block_gb, g, row, mean + 2 * r, rstd[r]);
    }
  });
  const auto total = [&](T* out, int64_t which) {
    if (!out) return;
    std::fill_n(out, cols, T{0});
    isa_loops<ReduceLoops<T>>().fold_rows[static_cast<int>(Reduce::sum)](
        blocks, cols, out, sums.data() + which * cols, 2 * cols);
  };
  total(gw, 0);
  total(gb, 1);
}

}  // namespace gradus::kernels

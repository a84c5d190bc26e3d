// Root mean square normalisation of the rows of a contiguous matrix (Zhang and Sennrich, "Root mean square
// layer normalization", 2019).
//
// Pointers belong to the caller; outputs must not overlap inputs. Thread-safe; the gradient of weight is
// summed over fixed blocks of rows, so the bits do not depend on the number of threads. T: float, double.
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
struct RMSNormLoops {
  void (*forward)(int64_t cols, T eps, T* y, T* rstd, const T* x, const T* weight);
  void (*gx)(int64_t cols, T* gx, const T* gy, const T* x, T rstd, const T* weight);
  void (*gw)(int64_t cols, T* gw, const T* gy, const T* x, T rstd);  // adds
};

/// y = x * rstd * weight by row, rstd = 1 / sqrt(mean(x^2) + eps), which (rows) is kept for the gradient.
/// weight (cols) may be nullptr. x: (rows, cols) -> (rows, cols).
template <class T>
void rms_norm(int64_t rows, int64_t cols, T eps, T* y, T* rstd, const T* x, const T* weight) {
  for_each_row(rows, cols, [&](int64_t r) {
    isa_loops<RMSNormLoops<T>>().forward(cols, eps, y + r * cols, rstd + r, x + r * cols, weight);
  });
}

/// gx (rows, cols) and gw (cols) of rms_norm, from gy and what it kept; either may be nullptr, and so may
/// weight.
template <class T>
void rms_norm_grad(int64_t rows, int64_t cols, T* gx, T* gw, const T* gy, const T* x, const T* rstd,
                   const T* weight) {
  const int64_t blocks = (rows + kGradRows - 1) / kGradRows;
  std::vector<T> sums(static_cast<size_t>(gw ? blocks * cols : 0));
  parallel_for(rows, kGradRows, [&](int64_t begin, int64_t end) {
    const RMSNormLoops<T>& loops = isa_loops<RMSNormLoops<T>>();
    for (int64_t r = begin; r < end; ++r) {
      const T *g = gy + r * cols, *row = x + r * cols;
      if (gx) loops.gx(cols, gx + r * cols, g, row, rstd[r], weight);
      if (gw) loops.gw(cols, sums.data() + begin / kGradRows * cols, g, row, rstd[r]);
    }
  });
  if (!gw) return;
  std::fill_n(gw, cols, T{0});
  const auto add_rows = isa_loops<ReduceLoops<T>>().fold_rows[static_cast<int>(Reduce::sum)];
  add_rows(blocks, cols, gw, sums.data(), cols);
}

}  // namespace gradus::kernels

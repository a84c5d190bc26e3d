// Layer normalisation (Ba, Kiros and Hinton, 2016) and root mean square normalisation (Zhang and Sennrich,
// 2019) of the rows of a contiguous matrix.
//
// Gradients of weight and bias are summed over fixed chunks of rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// out (cols) = the sum of `rows` rows of x, row_stride apart.
template <class T>
void add_rows(int64_t rows, int64_t cols, T* out, const T* x, int64_t row_stride) {
  std::fill_n(out, cols, T{0});
  isa_loops<ReduceLoops<T>>().fold_rows[static_cast<int>(Reduce::sum)](rows, cols, out, x, row_stride);
}

/// Loops over one row.
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

/// gx (rows, cols), gw and gb (cols) of layer_norm, from gy and the kept mean and rstd; any of the three may
/// be nullptr, and so may weight.
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
  if (gw) add_rows(blocks, cols, gw, sums.data(), 2 * cols);
  if (gb) add_rows(blocks, cols, gb, sums.data() + cols, 2 * cols);
}

/// Loops over one row.
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

/// gx (rows, cols) and gw (cols) of rms_norm, from gy and the kept rstd; either may be nullptr, and so may
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
  if (gw) add_rows(blocks, cols, gw, sums.data(), cols);
}

}  // namespace gradus::kernels

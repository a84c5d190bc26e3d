// Layer normalisation of the rows of a contiguous matrix (Ba, Kiros and Hinton, "Layer normalization", 2016).
//
// Pointers belong to the caller; outputs must not overlap inputs. Thread-safe; gradients of weight and bias
// are summed over fixed blocks of rows, so the bits do not depend on the number of threads. T: float, double.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// y = (x - mean) * rstd * weight + bias by row, rstd = 1 / sqrt(variance + eps) with the biased variance,
/// taken in a second pass so that a large mean does not hurt it; mean (rows, 2), in two parts that are
/// rounded apart, and rstd (rows) are kept for the gradient. weight and bias (cols) may be nullptr. x: (rows,
/// cols) -> (rows, cols).
template <class T>
void layer_norm(int64_t rows, int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight,
                const T* bias);

/// gx (rows, cols), gw and gb (cols) of layer_norm, from gy and what it kept; any of the three may be
/// nullptr, and so may weight.
template <class T>
void layer_norm_grad(int64_t rows, int64_t cols, T* gx, T* gw, T* gb, const T* gy, const T* x, const T* mean,
                     const T* rstd, const T* weight);

}  // namespace gradus::kernels

// The operands of matrix products. Internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {

/// Matrices in BLAS's form: rows `ld` apart, or columns if transposed. Copies those that are neither.
struct Matrices {
  explicit Matrices(const Tensor& t) : tensor(t), rows(t.size(-2)), columns(t.size(-1)) {
    if (try_strides()) return;
    tensor = raw::clone(t);
    try_strides();
  }

  bool try_strides() {
    const int n = tensor.dim();
    const int64_t row_stride = tensor.strides()[n - 2], column_stride = tensor.strides()[n - 1];
    if ((column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1)) {
      trans = kernels::Trans::no;
      ld = rows == 1 ? std::max<int64_t>(columns, 1) : std::max<int64_t>(row_stride, 1);
      return true;
    }
    if ((row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1)) {
      trans = kernels::Trans::yes;
      ld = columns == 1 ? std::max<int64_t>(rows, 1) : std::max<int64_t>(column_stride, 1);
      return true;
    }
    return false;
  }

  /// The offset of each matrix of the broadcast batch.
  std::vector<int64_t> offsets(const Shape& batch) const {
    std::vector<int64_t> list{0};
    const int lead = batch.size() - (tensor.dim() - 2);
    for (int d = 0; d < batch.size(); ++d) {
      const bool fixed = d < lead || tensor.shape()[d - lead] == 1;
      const int64_t stride = fixed ? 0 : tensor.strides()[d - lead];
      std::vector<int64_t> longer;
      longer.reserve(list.size() * static_cast<size_t>(batch[d]));
      for (const int64_t base : list)
        for (int64_t i = 0; i < batch[d]; ++i) longer.push_back(base + i * stride);
      list = std::move(longer);
    }
    return list;
  }

  /// The same values as the transposed matrices.
  Matrices transposed() const {
    Matrices flipped = *this;
    std::swap(flipped.rows, flipped.columns);
    flipped.trans = trans == kernels::Trans::no ? kernels::Trans::yes : kernels::Trans::no;
    return flipped;
  }

  Tensor tensor;
  int64_t rows, columns;
  kernels::Trans trans = kernels::Trans::no;
  int64_t ld = 1;
};

/// (..., m, n) -> (rows, n)
inline Tensor fold(const Tensor& t) {
  if (t.dim() == 2) return t;
  Shape rows = t.shape();
  rows.erase(rows.size() - 1);
  return t.reshape({rows.numel(), t.shape().back()});
}

/// Returns y; marks its vertex as rounded.
Tensor mark_rounded(Tensor y);

/// The code that multiplies x by weight^T, a matrix.
kernels::ProductCode code_for_linear(const Tensor& x, const Tensor& weight);

}  // namespace gradus

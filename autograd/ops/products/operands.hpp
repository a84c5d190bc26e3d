// The operands of matrix products, also rounded to bfloat16 (Autocast). Internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"
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

/// An operand that has been rounded.
using Packed = std::shared_ptr<const kernels::PackedBf16>;

/// x, float32, packed. A parameter, a leaf that requires a gradient or is frozen, is packed once and kept
/// until its values change; other tensors are packed each time.
Packed packed(kernels::Side side, const Matrices& x);
/// The same for a result in the graph, whose values do not change: it is packed once while it is in use, or
/// until this thread packs the next one for that side.
Packed packed_for_all(kernels::Side side, const Matrices& x);

/// An operand to fill, in memory that its last user returns to the allocator of tensors.
std::shared_ptr<kernels::PackedBf16> memory_to_pack(kernels::Side side, int64_t rows, int64_t columns);

/// out (m, n) = a (m, k) @ b (k, n); all float32, out packed.
void multiply_rounded(Tensor& out, const Matrices& a, const Matrices& b);

/// The same for a batch: the offsets are in elements from the first one of the tensor.
void multiply_rounded(Tensor& out, const Matrices& a, const std::vector<int64_t>& a_offsets,
                      const Matrices& b, const std::vector<int64_t>& b_offsets);

/// Returns y; marks its vertex as rounded.
Tensor mark_rounded(Tensor y);

/// linear() under Autocast with a weight that is only stored, of which it converts some rows at a time; the
/// arguments are checked.
Tensor rounded_stored_linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
/// linear(), gelu_linear() and swiglu_linear() under Autocast: the arguments are checked, float32, not empty.
Tensor rounded_linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
Tensor rounded_gelu_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Gelu approximate);
Tensor rounded_swiglu_linear(const Tensor& gate, const Tensor& up, const Tensor& weight, const Tensor& bias);

}  // namespace gradus

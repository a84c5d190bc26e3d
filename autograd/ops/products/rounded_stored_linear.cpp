// Linear layers under Autocast whose weight has 16, 8 or 4 bits and is frozen. No other form of the weight
// stays in memory: each product converts and packs some rows at a time.
#include <algorithm>
#include <vector>

#include "gradus/autograd/kernels/bf16/bf16_product.hpp"
#include "gradus/autograd/kernels/quantized/quantized.hpp"
#include "gradus/autograd/ops/products/operands.hpp"

namespace gradus {
namespace {

using kernels::Side;

constexpr int64_t kRowsAtATime = 8192;  // bounds the memory for the output matrix of a large vocabulary

/// Packs rows [first, first + rows) of the weight: as they are, or transposed.
Packed packed_rows(const Tensor& weight, int64_t first, int64_t rows, bool transposed) {
  const int64_t columns = weight.size(1);
  const auto convert = [&](int64_t row, int64_t high, int64_t column, int64_t wide, float* out,
                           int64_t out_stride) {
    if (weight.dtype() == DType::bfloat16) {
      for (int64_t i = 0; i < high; ++i)
        kernels::from_bfloat16(wide, out + i * out_stride,
                               weight.data<bfloat16>() + (first + row + i) * columns + column);
      return;
    }
    std::vector<float> whole(static_cast<size_t>(high * columns));
    dispatch_tiles(weight.dtype(), [&]<class Tile>() {
      kernels::from_tiles(first + row, first + row + high, columns, whole.data(), weight.data<Tile>());
    });
    for (int64_t i = 0; i < high; ++i)
      std::copy_n(whole.data() + i * columns + column, wide, out + i * out_stride);
  };
  auto form =
      transposed ? memory_to_pack(Side::right, columns, rows) : memory_to_pack(Side::right, rows, columns);
  kernels::PackedRows to;
  (transposed ? to.transposed : to.right) = form.get();
  kernels::pack_rows({.rows = rows, .columns = columns, .make = convert}, to);
  return form;
}

/// Calls f(first, rows) for the pieces of the weight.
template <class F>
void for_each_piece(const Tensor& weight, const F& f) {
  for (int64_t first = 0; first < weight.size(0); first += kRowsAtATime)
    f(first, std::min(kRowsAtATime, weight.size(0) - first));
}

/// gy (..., out) @ weight (out, in)
Tensor gradient_of_x(const Tensor& gy, const Tensor& weight) {
  const Tensor rows = fold(raw::contiguous(gy));
  const auto left = memory_to_pack(Side::left, rows.size(0), rows.size(1));
  kernels::pack(kernels::Trans::no, rows.data<float>(), rows.size(1), *left);
  Tensor gx = empty(resized(gy.shape(), gy.dim() - 1, weight.size(1)), DType::float32);
  for_each_piece(weight, [&](int64_t first, int64_t count) {
    const kernels::PackedBf16 part = left->part_of_k(first, first + count);
    kernels::multiply_bf16(part, *packed_rows(weight, first, count, false), gx.mutable_data<float>(),
                           weight.size(1), {.from = first > 0 ? gx.data<float>() : nullptr});
  });
  return gx;
}

}  // namespace

Tensor rounded_stored_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor b = raw::contiguous(bias);
  const Packed left = packed_for_all(Side::left, Matrices(fold(raw::contiguous(x.detach()))));
  Tensor out = empty(resized(x.shape(), x.dim() - 1, weight.size(0)), DType::float32);
  for_each_piece(weight, [&](int64_t first, int64_t rows) {
    kernels::multiply_bf16(*left, *packed_rows(weight, first, rows, true), out.mutable_data<float>() + first,
                           weight.size(0), {.bias = b.defined() ? b.data<float>() + first : nullptr});
  });
  const auto to_x = [w = Saved(weight)](const Tensor& gy) {
    const Autocast autocast(DType::bfloat16);
    return grad_enabled() ? matmul(gy, w->to(DType::float32)) : gradient_of_x(gy, w);
  };
  return mark_rounded(
      record("linear", std::move(out), {{x, to_x}, {bias, [](const Tensor& gy) { return gy; }}}));
}

}  // namespace gradus

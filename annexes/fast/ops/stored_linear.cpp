// Linear layers whose weight has 16, 8 or 4 bits and is frozen. No other form of the weight stays in memory:
// each product under Autocast converts and packs some rows at a time.
#include <algorithm>
#include <vector>

#include "gradus/annexes/fast/bf16/bf16_product.hpp"
#include "gradus/annexes/fast/ops/fast_ops.hpp"
#include "gradus/annexes/fast/quantized/quantized.hpp"
#include "gradus/autograd/kernels/blas/few_rows.hpp"

namespace gradus {
namespace {

using kernels::ProductCode;
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
    raw::tile_kernels(weight.dtype())
        .to_floats(first + row, first + row + high, columns, whole.data(), weight.raw_data());
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
  autograd::trace_attributes(weight);
  return mark_rounded(
      record("linear", std::move(out), {{x, to_x}, {bias, [](const Tensor& gy) { return gy; }}}));
}

}  // namespace

// A weight that is only stored gets no gradient; x does.
Tensor stored_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const int64_t out_features = weight.size(0), in_features = weight.size(1);
  if (!weight.is_contiguous())
    fail("linear", "a bfloat16 weight must be packed, got strides ", weight.strides(), ".");
  if (code_for_linear(x, weight) == ProductCode::multiply_bf16) return rounded_stored_linear(x, weight, bias);
  if (is_in_tiles(weight.dtype()) && x.dtype() == DType::float64)
    return linear(x, weight.to(DType::float64), bias);
  Tensor out = empty(resized(x.shape(), x.dim() - 1, out_features), x.dtype());
  const Tensor rows = raw::contiguous(x), b = raw::contiguous(bias);
  const int64_t m = out_features == 0 ? 0 : out.numel() / out_features;
  const auto multiply = [&]<class T>(auto kernel, const auto* w) {
    if (m > 0)
      kernel(m, out_features, in_features, out.mutable_data<T>(), rows.data<T>(), in_features, w,
             raw::data_or_null<T>(b));
  };
  if (code_for_linear(x, weight) == ProductCode::quantized_linear)
    multiply.template operator()<float>(raw::tile_kernels(weight.dtype()).linear, weight.raw_data());
  else
    dispatch_float("linear", x.dtype(), [&]<class T>() {
      multiply.template operator()<T>(kernels::linear_few_rows<T, bfloat16>, weight.data<bfloat16>());
    });
  const auto to_x = [w = Saved(weight)](const Tensor& gy) {
    const Autocast autocast(DType::float32);
    return matmul(gy, w->to(gy.dtype()));
  };
  autograd::trace_attributes(weight);
  return record("linear", std::move(out), {{x, to_x}, {bias, [](const Tensor& gy) { return gy; }}});
}

}  // namespace gradus

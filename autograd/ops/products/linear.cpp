#include <algorithm>

#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/autograd/ops/products/operands.hpp"

namespace gradus {
namespace {

using kernels::fast_kernels;
using kernels::ProductCode;
using kernels::WeightFormat;

// x (..., in), weight (in), bias () -> (...)
Tensor linear_to_one(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (x.dim() == 0 || x.size(-1) != weight.size(0))
    fail("linear", "needs x (..., in) and weight (in,), got x ", x.shape(), " and weight ", weight.shape(),
         ".");
  const Tensor y = matmul(x, weight);
  if (!bias.defined()) return y;
  check_same_dtype("linear", x, bias);
  if (bias.dim() != 0)
    fail("linear", "bias must be () for a weight ", weight.shape(), ", got ", bias.shape(), ".");
  return y + bias;
}

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() != 2 || x.dim() == 0 || x.size(-1) != weight.size(1))
    fail("linear", "needs x (..., in) and weight (out, in), got x ", x.shape(), " and weight ",
         weight.shape(), ".");
  if (!bias.defined()) return;
  check_same_dtype("linear", x, bias);
  if (bias.shape() != Shape{weight.size(0)})
    fail("linear", "bias must be (", weight.size(0), ",), got ", bias.shape(), ".");
}

// Whether linear(x, weight, bias) rounds; for ops that fuse an activation into it.
bool is_rounded_linear(const Tensor& x, const Tensor& weight) {
  return x.defined() && weight.defined() && weight.dtype() == DType::float32 && weight.dim() == 2 &&
         code_for_linear(x, weight) == ProductCode::multiply_bf16;
}

}  // namespace

ProductCode code_for_linear(const Tensor& x, const Tensor& weight) {
  const DType w = weight.dtype();
  return kernels::choose_product({.m = x.numel() / std::max<int64_t>(1, weight.size(1)),
                                  .n = weight.size(0),
                                  .k = weight.size(1),
                                  .b_transposed = true,
                                  .rounded = is_rounded(x.dtype()) && x.numel() > 0 && weight.numel() > 0,
                                  .weight = is_in_tiles(w)         ? WeightFormat::tiles
                                            : w == DType::bfloat16 ? WeightFormat::bfloat16
                                                                   : WeightFormat::as_x,
                                  .place = kernels::ProductPlace::linear});
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.defined() && is_storage(weight.dtype())) {
    check_floating("linear", x);
    check_linear(x, weight, bias);
    const auto stored = kernels::needed(fast_kernels().stored_linear, "linear", name(weight.dtype()));
    return stored(x, weight, bias);
  }
  check_same_dtype("linear", x, weight);
  check_floating("linear", x);
  if (weight.dim() == 1) return linear_to_one(x, weight, bias);
  check_linear(x, weight, bias);
  if (code_for_linear(x, weight) == ProductCode::multiply_bf16)
    return fast_kernels().rounded_linear(x, weight, bias);
  const int64_t out_features = weight.size(0), in_features = weight.size(1);
  Tensor out = empty(resized(x.shape(), x.dim() - 1, out_features), x.dtype());
  const Tensor rows = raw::contiguous(x), w = raw::contiguous(weight), b = raw::contiguous(bias);
  if (out.numel() > 0)
    dispatch_float("linear", x.dtype(), [&]<class T>() {
      kernels::linear<T>(out.numel() / out_features, out_features, in_features, out.mutable_data<T>(),
                         rows.data<T>(), in_features, w.data<T>(), raw::data_or_null<T>(b));
    });
  const auto to_x = [w = Saved(weight)](const Tensor& gy) {
    const Autocast autocast(DType::float32);
    return matmul(gy, w);
  };
  const auto to_weight = [x = Saved(x)](const Tensor& gy) {
    const Autocast autocast(DType::float32);
    return matmul(fold(gy).mT(), fold(x));
  };
  const auto to_bias = [](const Tensor& gy) { return gy; };
  return record("linear", std::move(out), {{x, to_x}, {weight, to_weight}, {bias, to_bias}});
}

Tensor gelu_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Gelu approximate) {
  for (const Tensor& t : {x, weight}) check_defined("gelu_linear", t);
  if (!is_rounded_linear(x, weight)) return linear(gelu(x, approximate), weight, bias);
  check_linear(x, weight, bias);
  return fast_kernels().rounded_gelu_linear(x, weight, bias, approximate);
}

Tensor swiglu_linear(const Tensor& gate, const Tensor& up, const Tensor& weight, const Tensor& bias) {
  for (const Tensor& t : {gate, up, weight}) check_defined("swiglu_linear", t);
  if (!is_rounded_linear(gate, weight)) return linear(swiglu(gate, up), weight, bias);
  check_swiglu(gate, up);
  check_linear(gate, weight, bias);
  return fast_kernels().rounded_swiglu_linear(gate, up, weight, bias);
}

}  // namespace gradus

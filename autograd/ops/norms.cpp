#include "gradus/autograd/kernels/elementwise/rows.hpp"

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

// 1 / sqrt(mean(x^2) + eps) in public ops, given its value r, (rows): squares of x * r do not overflow.
Tensor rstd_of(const Tensor& x, const Tensor& r, const Dims& dims, double eps) {
  Shape kept = x.shape();
  for (const int64_t d : dims) kept[static_cast<int>(d)] = 1;
  const Tensor near = r.reshape(kept), scaled = x * near;
  return near * rsqrt(mean(scaled * scaled, dims, /*keepdim=*/true) + eps * near * near);
}

// The gradients in public ops: xhat = (x - mean) * rstd, g = gy * weight,
// gx = rstd * (g - mean(g) - xhat * mean(g * xhat)), gw = gy * xhat, gb = gy, both summed over rows.
std::vector<Tensor> layer_norm_rule(const Tensor& gy, const Tensor& x, const Tensor& weight,
                                    const Tensor& rstds, const Dims& dims, double eps) {
  const Tensor deviation = centred(x, dims), rstd = rstd_of(deviation, rstds, dims, eps);
  const Tensor xhat = deviation * rstd;
  const Tensor g = weight.defined() ? gy * weight : gy;
  const Tensor gx = rstd * (g - mean(g, dims, true) - xhat * mean(g * xhat, dims, true));
  return {gx, gy * xhat, gy};
}

// The gradients in public ops: xhat = x * rstd, g = gy * weight, gx = rstd * (g - xhat * mean(g * xhat)),
// gw = gy * xhat, summed over rows.
std::vector<Tensor> rms_norm_rule(const Tensor& gy, const Tensor& x, const Tensor& weight,
                                  const Tensor& rstds, const Dims& dims, double eps) {
  const Tensor rstd = rstd_of(x, rstds, dims, eps), xhat = x * rstd;
  const Tensor g = weight.defined() ? gy * weight : gy;
  return {rstd * (g - xhat * mean(g * xhat, dims, /*keepdim=*/true)), gy * xhat};
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const Dims dims = normalized_dims("layer_norm", x, normalized_shape, {weight, bias});
  const int64_t cols = normalized_shape.numel(), rows = cols == 0 ? 0 : x.numel() / cols;
  const Tensor packed = raw::contiguous(x), w = raw::contiguous(weight), b = raw::contiguous(bias);
  Tensor out = empty(x.shape(), x.dtype()), means = empty({rows, 2}, x.dtype()),
         rstds = empty({rows}, x.dtype());
  dispatch_float("layer_norm", x.dtype(), [&]<class T>() {
    kernels::layer_norm<T>(rows, cols, static_cast<T>(eps), out.mutable_data<T>(), means.mutable_data<T>(),
                           rstds.mutable_data<T>(), packed.data<T>(), raw::data_or_null<T>(w),
                           raw::data_or_null<T>(b));
  });
  auto pull = [x = Saved(x), w = Saved(weight), means, rstds, normalized_shape, rows, cols, dims, eps](
                  const Tensor& gy, Needs needs) {
    if (grad_enabled()) return layer_norm_rule(gy, x, w, rstds, dims, eps);
    const Tensor g = raw::contiguous(gy), xs = raw::contiguous(x), ws = raw::contiguous(w);
    Tensor gx = needs[0] ? empty(x->shape(), x->dtype()) : Tensor();
    Tensor gw = needs[1] ? empty(normalized_shape, x->dtype()) : Tensor();
    Tensor gb = needs[2] ? empty(normalized_shape, x->dtype()) : Tensor();
    dispatch_float("layer_norm", x->dtype(), [&]<class T>() {
      kernels::layer_norm_grad<T>(rows, cols, raw::data_or_null<T>(gx), raw::data_or_null<T>(gw),
                                  raw::data_or_null<T>(gb), g.data<T>(), xs.data<T>(), means.data<T>(),
                                  rstds.data<T>(), raw::data_or_null<T>(ws));
    });
    return std::vector<Tensor>{gx, gw, gb};
  };
  autograd::trace_attributes(cols, eps);
  return record("layer_norm", std::move(out), {x, weight, bias}, std::move(pull));
}

Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                std::optional<double> eps_or_none) {
  const Dims dims = normalized_dims("rms_norm", x, normalized_shape, {weight});
  const double eps = eps_or_none.value_or(x.dtype() == DType::float32 ? 0x1p-23 : 0x1p-52);
  const int64_t cols = normalized_shape.numel(), rows = cols == 0 ? 0 : x.numel() / cols;
  const Tensor packed = raw::contiguous(x), w = raw::contiguous(weight);
  Tensor out = empty(x.shape(), x.dtype()), rstds = empty({rows}, x.dtype());
  dispatch_float("rms_norm", x.dtype(), [&]<class T>() {
    kernels::rms_norm<T>(rows, cols, static_cast<T>(eps), out.mutable_data<T>(), rstds.mutable_data<T>(),
                         packed.data<T>(), raw::data_or_null<T>(w));
  });
  auto pull = [x = Saved(x), w = Saved(weight), rstds, normalized_shape, rows, cols, dims, eps](
                  const Tensor& gy, Needs needs, const Sums& sums) {
    if (grad_enabled()) return rms_norm_rule(gy, x, w, rstds, dims, eps);
    const Tensor g = raw::contiguous(gy), xs = raw::contiguous(x), ws = raw::contiguous(w);
    const Tensor sum = sums.take(0);
    Tensor gx = needs[0] ? raw::memory_for_sum(sum, x->shape(), x->dtype()) : Tensor();
    Tensor gw = needs[1] ? empty(normalized_shape, x->dtype()) : Tensor();
    dispatch_float("rms_norm", x->dtype(), [&]<class T>() {
      kernels::rms_norm_grad<T>(rows, cols, raw::data_or_null<T>(gx), raw::data_or_null<T>(gw), g.data<T>(),
                                xs.data<T>(), rstds.data<T>(), raw::data_or_null<T>(ws),
                                raw::data_or_null<T>(sum));
    });
    return std::vector<Tensor>{gx, gw};
  };
  autograd::trace_attributes(cols, eps);
  return record("rms_norm", std::move(out), {x, weight}, std::move(pull));
}

}  // namespace gradus

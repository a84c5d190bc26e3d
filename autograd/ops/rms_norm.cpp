#include "gradus/autograd/kernels/rows/rms_norm.hpp"

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/arguments.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {
namespace {

// The gradients in public ops: xhat = x * rstd, g = gy * weight, gx = rstd * (g - xhat * mean(g * xhat)),
// gw = gy * xhat, summed over rows.
std::vector<Tensor> rms_norm_rule(const Tensor& gy, const Tensor& x, const Tensor& weight, const Dims& dims,
                                  double eps) {
  const Tensor rstd = rsqrt(mean(x * x, dims, /*keepdim=*/true) + eps), xhat = x * rstd;
  const Tensor g = weight.defined() ? gy * weight : gy;
  return {rstd * (g - xhat * mean(g * xhat, dims, /*keepdim=*/true)), gy * xhat};
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                std::optional<double> eps_or_none) {
  const Dims dims = normalized_dims("rms_norm", x, normalized_shape, {weight});
  const double eps = eps_or_none.value_or(x.dtype() == DType::float32 ? 0x1p-23 : 0x1p-52);
  const int64_t cols = normalized_shape.numel(), rows = cols == 0 ? 0 : x.numel() / cols;
  const Tensor packed = raw::contiguous(x), w = weight.defined() ? raw::contiguous(weight) : weight;
  Tensor out = empty(x.shape(), x.dtype()), rstds = empty({rows}, x.dtype());
  dispatch_float("rms_norm", x.dtype(), [&]<class T>() {
    kernels::rms_norm<T>(rows, cols, static_cast<T>(eps), out.mutable_data<T>(), rstds.mutable_data<T>(),
                         packed.data<T>(), w.defined() ? w.data<T>() : nullptr);
  });
  auto pull = [x = Saved(x), w = Saved(weight), rstds, normalized_shape, rows, cols, dims, eps](
                  const Tensor& gy, Needs needs) {
    if (grad_enabled()) return rms_norm_rule(gy, x, w, dims, eps);
    const Tensor g = raw::contiguous(gy), xs = raw::contiguous(x);
    const Tensor ws = w->defined() ? raw::contiguous(w) : *w;
    Tensor gx = needs[0] ? empty(x->shape(), x->dtype()) : Tensor();
    Tensor gw = needs[1] ? empty(normalized_shape, x->dtype()) : Tensor();
    dispatch_float("rms_norm", x->dtype(), [&]<class T>() {
      const auto to = [](Tensor& t) { return t.defined() ? t.mutable_data<T>() : nullptr; };
      kernels::rms_norm_grad<T>(rows, cols, to(gx), to(gw), g.data<T>(), xs.data<T>(), rstds.data<T>(),
                                ws.defined() ? ws.data<T>() : nullptr);
    });
    return std::vector<Tensor>{gx, gw};
  };
  return record("rms_norm", out, {x, weight}, std::move(pull));
}

}  // namespace gradus

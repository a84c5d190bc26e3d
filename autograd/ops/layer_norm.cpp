#include "gradus/autograd/kernels/rows/layer_norm.hpp"

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/arguments.hpp"
#include "gradus/autograd/ops/mean_of.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {
namespace {

// The gradients in public ops: xhat = (x - mean) * rstd, g = gy * weight,
// gx = rstd * (g - mean(g) - xhat * mean(g * xhat)), gw = gy * xhat, gb = gy, the latter two summed over
// rows.
std::vector<Tensor> composed_gradients(const Tensor& gy, const Tensor& x, const Tensor& weight,
                                       const Dims& dims, double eps) {
  const Tensor deviation = centred(x, dims);
  const Tensor rstd = rsqrt(mean(deviation * deviation, dims, /*keepdim=*/true) + eps);
  const Tensor xhat = deviation * rstd;
  const Tensor g = weight.defined() ? gy * weight : gy;
  const Tensor gx = rstd * (g - mean(g, dims, true) - xhat * mean(g * xhat, dims, true));
  return {gx, gy * xhat, gy};
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const Dims dims = normalized_dims("layer_norm", x, normalized_shape, {weight, bias});
  const int64_t cols = normalized_shape.numel(), rows = cols == 0 ? 0 : x.numel() / cols;
  const Tensor packed = raw::contiguous(x);
  const Tensor w = weight.defined() ? raw::contiguous(weight) : weight;
  const Tensor b = bias.defined() ? raw::contiguous(bias) : bias;
  Tensor out = empty(x.shape(), x.dtype()), means = empty({rows, 2}, x.dtype()),
         rstds = empty({rows}, x.dtype());
  dispatch_float("layer_norm", x.dtype(), [&]<class T>() {
    kernels::layer_norm<T>(rows, cols, static_cast<T>(eps), out.mutable_data<T>(), means.mutable_data<T>(),
                           rstds.mutable_data<T>(), packed.data<T>(), w.defined() ? w.data<T>() : nullptr,
                           b.defined() ? b.data<T>() : nullptr);
  });
  auto pull = [x = Saved(x), w = Saved(weight), means, rstds, normalized_shape, rows, cols, dims, eps](
                  const Tensor& gy, Needs needs) {
    if (grad_enabled()) return composed_gradients(gy, x, w, dims, eps);
    const Tensor g = raw::contiguous(gy), xs = raw::contiguous(x);
    const Tensor ws = w->defined() ? raw::contiguous(w) : *w;
    Tensor gx = needs[0] ? empty(x->shape(), x->dtype()) : Tensor();
    Tensor gw = needs[1] ? empty(normalized_shape, x->dtype()) : Tensor();
    Tensor gb = needs[2] ? empty(normalized_shape, x->dtype()) : Tensor();
    dispatch_float("layer_norm", x->dtype(), [&]<class T>() {
      const auto to = [](Tensor& t) { return t.defined() ? t.mutable_data<T>() : nullptr; };
      const T* const weights = ws.defined() ? ws.data<T>() : nullptr;
      kernels::layer_norm_grad<T>(rows, cols, to(gx), to(gw), to(gb), g.data<T>(), xs.data<T>(),
                                  means.data<T>(), rstds.data<T>(), weights);
    });
    return std::vector<Tensor>{gx, gw, gb};
  };
  return record("layer_norm", out, {x, weight, bias}, std::move(pull));
}

}  // namespace gradus

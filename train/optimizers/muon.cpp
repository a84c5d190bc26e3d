#include "gradus/train/optimizers/muon.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/kernels/updates/muon.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::train {
namespace {

MuonOptions with_matrices(MuonOptions options) {
  if (!options.matrices)
    options.matrices = [](const std::string& name, const Tensor& parameter) {
      return muon_matrices(name, parameter.shape());
    };
  return options;
}

/// a x + b y of packed tensors of one shape and dtype, in one pass.
Tensor weighted_sum(double a, const Tensor& x, double b, const Tensor& y) {
  Tensor out = empty(x.shape(), x.dtype());
  dispatch_float("muon", x.dtype(), [&]<class T>() {
    kernels::weighted_sum(x.numel(), out.mutable_data<T>(), a, x.data<T>(), b, y.data<T>());
  });
  return out;
}

}  // namespace

int64_t muon_matrices(std::string_view name, const Shape& shape) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (shape.size() != 2 || has("wte") || has("wpe") || has("embed") || has("head")) return 0;
  return has("c_attn") ? 3 : 1;
}

Tensor orthogonalized(const Tensor& x) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  constexpr int kSteps = 5;
  constexpr double kTiny = 1e-7;
  if (!x.defined() || x.dim() < 2 || !is_floating(x.dtype()))
    fail("muon", "needs float32 or float64 matrices, got ",
         x.defined() ? concat(name(x.dtype()), " ", x.shape()) : "none", ".");
  const NoGrad no_grad;
  const bool tall = x.size(-2) > x.size(-1);
  Tensor y = (tall ? x.mT() : x).contiguous();
  y = y / (sqrt(sum(y * y, {-2, -1}, /*keepdim=*/true)) + kTiny);
  for (int i = 0; i < kSteps; ++i) {
    const Tensor squares = matmul(y, y.mT());
    y = weighted_sum(kA, y, 1, matmul(weighted_sum(kB, squares, kC, matmul(squares, squares)), y));
  }
  return tall ? y.mT() : y;
}

Muon::Muon(NamedParameters parameters, const MuonOptions& options)
    : Optimizer(std::move(parameters),
                [matrices = with_matrices(options).matrices](const std::string& name, const Tensor& p) {
                  return matrices(name, p) > 0 ? std::vector<std::string>{"momentum"}
                                               : std::vector<std::string>{"m", "v"};
                }),
      options_(with_matrices(options)) {
  check(options.adamw, "muon");
  if (!(options.momentum >= 0 && options.momentum < 1))
    fail("muon", "momentum must be in [0, 1), got ", options.momentum, ".");
}

void Muon::update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) {
  if (!is_matrix(slot))
    return adamw_update(options_.adamw, slot.parameter, slot.buffers[0], slot.buffers[1], grad, step, lr,
                        decay_of(slot, options_.adamw.weight_decay), grad_scale);
  const int64_t count = options_.matrices(slot.name, slot.parameter);
  const int64_t rows = slot.parameter.size(0), columns = slot.parameter.size(1);
  if (rows % count != 0)
    fail("muon", slot.name, " must have rows for ", count, " matrices, got ", slot.parameter.shape(), ".");
  const double size = 0.2 * std::sqrt(static_cast<double>(std::max(rows / count, columns)));
  dispatch_float("muon", grad.dtype(), [&]<class T>() {
    const int64_t n = grad.numel();
    Tensor ahead = empty({count, rows / count, columns}, grad.dtype());
    kernels::look_ahead(n, ahead.mutable_data<T>(), slot.buffers[0].mutable_data<T>(), grad.data<T>(),
                        options_.momentum, grad_scale);
    const Tensor direction = orthogonalized(ahead).contiguous();
    T* const p = slot.parameter.mutable_data<T>();
    kernels::weighted_sum(n, p, 1.0 - lr * options_.adamw.weight_decay, p, -lr * size, direction.data<T>());
  });
}

}  // namespace gradus::train

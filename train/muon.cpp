#include "gradus/train/muon.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/record.hpp"

namespace gradus::train {
namespace {

int64_t matrices_of(const std::string& name, const Tensor& parameter) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (parameter.dim() != 2 || has("wte") || has("wpe") || has("embed") || has("head")) return 0;
  return has("c_attn") ? 3 : 1;
}

MuonOptions with_matrices(MuonOptions options) {
  if (!options.matrices) options.matrices = matrices_of;
  return options;
}

/// p = (1 - decay) * p + factor * x.
void move(Tensor& p, const Tensor& x, double decay, double factor) {
  p.copy_(p.detach() * (1.0 - decay) + x.reshape(p.shape()) * factor);
}

}  // namespace

Tensor orthogonalized(const Tensor& x) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  constexpr int kSteps = 5;
  constexpr double kTiny = 1e-7;
  if (!x.defined() || x.dim() < 2 || !is_floating(x.dtype()))
    fail("muon", "needs float32 or float64 matrices, got ",
         x.defined() ? concat(name(x.dtype()), " ", x.shape()) : "none", ".");
  const bool tall = x.size(-2) > x.size(-1);
  Tensor y = tall ? x.mT() : x;
  y = y / (sqrt(sum(y * y, {-2, -1}, /*keepdim=*/true)) + kTiny);
  for (int i = 0; i < kSteps; ++i) {
    const Tensor squares = matmul(y, y.mT());
    y = y * kA + matmul(squares * kB + matmul(squares, squares) * kC, y);
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
  if (slot.buffers.size() == 2)
    return adamw_update(options_.adamw, slot.parameter, slot.buffers[0], slot.buffers[1], grad, step, lr,
                        decay_of(slot, options_.adamw.weight_decay), grad_scale);
  const int64_t count = options_.matrices(slot.name, slot.parameter);
  const int64_t rows = slot.parameter.size(0), columns = slot.parameter.size(1);
  if (rows % count != 0)
    fail("muon", slot.name, " must have rows for ", count, " matrices, got ", slot.parameter.shape(), ".");
  const Tensor g = grad * grad_scale;
  Tensor& sum = slot.buffers[0];
  sum.copy_(sum * options_.momentum + g);
  const Tensor ahead = g + sum * options_.momentum;
  const double size = 0.2 * std::sqrt(static_cast<double>(std::max(rows / count, columns)));
  move(slot.parameter, orthogonalized(ahead.reshape({count, rows / count, columns})),
       lr * options_.adamw.weight_decay, -lr * size);
}

}  // namespace gradus::train

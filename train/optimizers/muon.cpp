#include "gradus/train/optimizers/muon.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/elementwise/optimizers.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::train {
namespace {

/// Coefficients of x a + x^3 b + x^5 c in Polar Express (Amsel et al., arXiv 2505.16932). Step i is the
/// polynomial that brings singular values in [0.003, 1], after steps 1 to i - 1, closest to 1; widened by 1 %
/// for rounding. The last one is times 0.9: values end in [0.7, 1.1], with about the mean of five steps of
/// the iteration that Muon's authors published.
constexpr struct {
  double a, b, c;
} kPolarExpress[kMuonSteps] = {{8.3837, -24.7659, 18.3571},
                               {4.0083, -2.9277, 0.5428},
                               {3.4970, -2.5733, 0.5045},
                               {2.2643, -1.6502, 0.3839}};

/// x x^T of packed matrices, or of tall ones x^T x, in the precision of products.
Tensor gram(const Tensor& x, bool tall) {
  const int64_t m = x.size(tall ? -1 : -2), k = x.size(tall ? -2 : -1);
  const kernels::Trans trans = tall ? kernels::Trans::yes : kernels::Trans::no;
  Shape shape(x.shape().begin(), x.shape().end() - 2);
  shape.push_back(m);
  shape.push_back(m);
  if (x.numel() == 0) return zeros(shape, x.dtype());
  Tensor out = empty(shape, x.dtype());
  const bool rounded = kernels::choose_product({.m = m, .n = m, .k = k, .rounded = is_rounded(x.dtype())}) ==
                       kernels::ProductCode::multiply_bf16;
  dispatch_float("muon", x.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < x.numel() / (m * k); ++i) {
      const T* const from = x.data<T>() + i * m * k;
      T* const to = out.mutable_data<T>() + i * m * m;
      if constexpr (std::is_same_v<T, float>)
        if (rounded) {
          kernels::fast_kernels().gram_bf16(trans, m, k, from, x.size(-1), to);
          continue;
        }
      kernels::gram(trans, m, k, from, x.size(-1), to);
    }
  });
  return out;
}

/// Adds a to the diagonals of packed square matrices.
void add_to_diagonal(Tensor& x, double a) {
  const int64_t m = x.size(-1);
  dispatch_float("muon", x.dtype(), [&]<class T>() {
    T* const values = x.mutable_data<T>();
    for (int64_t i = 0; i < x.numel(); i += m) values[i + i / m % m] += static_cast<T>(a);
  });
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
  constexpr double kTiny = 1e-7;
  if (!x.defined() || x.dim() < 2 || !is_floating(x.dtype()))
    fail("muon", "needs float32 or float64 matrices, got ",
         x.defined() ? concat(name(x.dtype()), " ", x.shape()) : "none", ".");
  const NoGrad no_grad;
  const bool tall = x.size(-2) > x.size(-1);
  Tensor y = x.contiguous() / (sqrt(sum(x * x, {-2, -1}, /*keepdim=*/true)) + kTiny);
  for (const auto& [a, b, c] : kPolarExpress) {
    const Tensor squares = gram(y, tall);
    Tensor sum = weighted_sum(b, squares, c, gram(squares, /*tall=*/false));
    add_to_diagonal(sum, a);
    y = tall ? matmul(y, sum) : matmul(sum, y);
  }
  return y;
}

std::vector<std::string> Muon::buffer_names(const NamedParameter& parameter) {
  if (is_matrix(parameter)) return {"momentum"};
  return AdamW::buffer_names(parameter);
}

double Muon::update_cost(const NamedParameter& parameter) const {
  const Tensor& p = parameter.second;
  const auto values = static_cast<double>(p.numel());
  if (!is_matrix(parameter)) return values;
  const auto parts = static_cast<double>(parameter.role.parts), rows = static_cast<double>(p.size(0)) / parts;
  const double shorter = std::min(rows, static_cast<double>(p.size(1)));
  constexpr double kGram = 0.7;  // of the products are computed
  return kMuonSteps * ((1 + kGram) * values * shorter + kGram * parts * shorter * shorter * shorter);
}

Muon::Muon(NamedParameters parameters, const MuonOptions& options, const ParameterGroups& groups)
    : Optimizer(std::move(parameters), options.lr, buffer_names, groups), options_(options) {
  check_options(options.adamw, "muon");
  if (!(options.momentum >= 0 && options.momentum < 1))
    fail("muon", "momentum must be in [0, 1), got ", options.momentum, ".");
  if (options.adamw.lr) fail("muon", "adamw.lr must be left out, got ", *options.adamw.lr, ". Hint: lr.");
}

void Muon::update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) {
  const double decay = slot.decay(options_.adamw.weight_decay);
  Tensor& parameter = slot.parameter();
  if (!is_matrix(slot.of))
    return adamw_update(options_.adamw, parameter, slot.buffers[0], slot.buffers[1], grad, step, lr, decay,
                        grad_scale);
  const int64_t count = slot.of.role.parts;
  const int64_t rows = parameter.size(0), columns = parameter.size(1);
  if (rows % count != 0)
    fail("muon", slot.name(), " must have rows for ", count, " matrices, got ", parameter.shape(), ".");
  const double size = 0.2 * std::sqrt(static_cast<double>(std::max(rows / count, columns)));
  dispatch_float("muon", grad.dtype(), [&]<class T>() {
    const int64_t n = grad.numel();
    Tensor ahead = empty({count, rows / count, columns}, grad.dtype());
    kernels::look_ahead(n, ahead.mutable_data<T>(), slot.buffers[0].mutable_data<T>(), grad.data<T>(),
                        options_.momentum, grad_scale);
    const Tensor direction = orthogonalized(ahead);
    T* const p = parameter.mutable_data<T>();
    kernels::weighted_sum(n, p, 1.0 - lr * decay, p, -lr * size, direction.data<T>());
  });
}

// Each thread works on one matrix, and freed memory is cached by size for its next use.
double muon_working_memory(const NamedParameters& parameters, DType products) {
  const int as_large = products == DType::float32 ? 4 : 5, squares = 3;  // tensors of a matrix at once
  std::map<double, int> waiting;                                         // tensors by size
  int matrices = 0;
  for (const NamedParameter& p : parameters) {
    if (Muon::buffer_names(p).size() != 1) continue;
    const auto count = static_cast<double>(p.role.parts), size = static_cast<double>(p.second.numel());
    const double shorter =
        std::min(static_cast<double>(p.second.size(0)) / count, static_cast<double>(p.second.size(1)));
    std::map<double, int> needed{{size, as_large}};
    needed[count * shorter * shorter] += squares;
    for (const auto& [each, tensors] : needed) waiting[each] = std::max(waiting[each], tensors);
    ++matrices;
  }
  double bytes = 0;
  for (const auto& [each, tensors] : waiting) bytes += 4 * each * tensors * std::min(num_threads(), matrices);
  return bytes;
}

}  // namespace gradus::train

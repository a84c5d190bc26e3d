// The elementwise parts of optimizer steps, each in one pass over memory: of AdamW (Loshchilov and Hutter,
// "Decoupled weight decay regularization", 2019) and of Muon (train/optimizers/muon.hpp). And the norm for
// gradient clipping.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// The factors of AdamW: param = shrink * param - rate * m / (sqrt(v) * root + eps).
template <class T>
struct AdamWFactors {
  T grad_scale, beta1, one_minus_beta1, beta2, one_minus_beta2, shrink, rate, root, eps;
};

template <class T>
struct AdamWLoops {
  void (*adamw)(int64_t n, T* param, T* m, T* v, const T* grad, const AdamWFactors<T>& f);
  double (*sum_of_squares)(int64_t n, const T* x);
};

/// With g = grad * grad_scale, for n parameters and their moments:
///   m = beta1 * m + (1 - beta1) * g,   v = beta2 * v + (1 - beta2) * g^2,
///   param = param * (1 - lr * weight_decay)
///           - lr / (1 - beta1^step) * m / (sqrt(v) / sqrt(1 - beta2^step) + eps).
/// step counts from 1.
template <class T>
void adamw(int64_t n, T* param, T* m, T* v, const T* grad, double lr, double beta1, double beta2, double eps,
           double weight_decay, int64_t step, double grad_scale) {
  const auto steps = static_cast<double>(step);
  const auto t = [](double factor) { return static_cast<T>(factor); };
  const AdamWFactors<T> factors{t(grad_scale),
                                t(beta1),
                                t(1.0 - beta1),
                                t(beta2),
                                t(1.0 - beta2),
                                t(1.0 - lr * weight_decay),
                                t(lr / (1.0 - std::pow(beta1, steps))),
                                t(1.0 / std::sqrt(1.0 - std::pow(beta2, steps))),
                                t(eps)};
  const auto loop = [&](int64_t count, auto*... x) {
    isa_loops<AdamWLoops<T>>().adamw(count, x..., factors);
  };
  loop_over_chunks(n, kElementsChunk, loop, param, m, v, grad);
}

/// The sum of x^2 in double, by fixed chunks.
template <class T>
double sum_of_squares(int64_t n, const T* x) {
  std::vector<double> parts(static_cast<size_t>(ceil_div(n, kElementsChunk)));
  parallel_for(n, kElementsChunk, [&](int64_t begin, int64_t end) {
    parts[static_cast<size_t>(begin / kElementsChunk)] =
        isa_loops<AdamWLoops<T>>().sum_of_squares(end - begin, x + begin);
  });
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

template <class T>
struct MuonLoops {
  void (*look_ahead)(int64_t n, T* ahead, T* sum, const T* grad, T momentum, T grad_scale);
  void (*weighted_sum)(int64_t n, T* out, T a, const T* x, T b, const T* y);
};

/// With g = grad * grad_scale: sum = momentum * sum + g, ahead = momentum * sum + g. (n) each.
template <class T>
void look_ahead(int64_t n, T* ahead, T* sum, const T* grad, double momentum, double grad_scale) {
  const auto loop = [&](int64_t count, auto*... x) {
    isa_loops<MuonLoops<T>>().look_ahead(count, x..., static_cast<T>(momentum), static_cast<T>(grad_scale));
  };
  loop_over_chunks(n, kElementsChunk, loop, ahead, sum, grad);
}

/// out = a * x + b * y, (n) each; out may be x or y.
template <class T>
void weighted_sum(int64_t n, T* out, double a, const T* x, double b, const T* y) {
  parallel_for(n, kElementsChunk, [&](int64_t begin, int64_t end) {
    isa_loops<MuonLoops<T>>().weighted_sum(end - begin, out + begin, static_cast<T>(a), x + begin,
                                           static_cast<T>(b), y + begin);
  });
}

}  // namespace gradus::kernels

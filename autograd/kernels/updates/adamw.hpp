// One step of AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", 2019) and the norm that
// clips it.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// The factors of AdamW that all elements share: param = shrink * param - rate * m / (sqrt(v) * root
/// + eps).
template <class T>
struct AdamWFactors {
  T grad_scale, beta1, one_minus_beta1, beta2, one_minus_beta2, shrink, rate, root, eps;
};

template <class T>
struct AdamWLoops {
  void (*adamw)(int64_t n, T* param, T* m, T* v, const T* grad, const AdamWFactors<T>& f);
  double (*sum_of_squares)(int64_t n, const T* x);
};

/// One pass over n parameters and their moments, with g = grad * grad_scale:
///   m = beta1 * m + (1 - beta1) * g,   v = beta2 * v + (1 - beta2) * g^2,
///   param = param * (1 - lr * weight_decay)
///           - lr / (1 - beta1^step) * m / (sqrt(v) / sqrt(1 - beta2^step) + eps).
/// step counts from 1.
template <class T>
void adamw(int64_t n, T* param, T* m, T* v, const T* grad, double lr, double beta1, double beta2, double eps,
           double weight_decay, int64_t step, double grad_scale) {
  const auto steps = static_cast<double>(step);
  const AdamWFactors<T> factors{static_cast<T>(grad_scale),
                                static_cast<T>(beta1),
                                static_cast<T>(1.0 - beta1),
                                static_cast<T>(beta2),
                                static_cast<T>(1.0 - beta2),
                                static_cast<T>(1.0 - lr * weight_decay),
                                static_cast<T>(lr / (1.0 - std::pow(beta1, steps))),
                                static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(beta2, steps))),
                                static_cast<T>(eps)};
  parallel_for(n, kElementsChunk, [&](int64_t begin, int64_t end) {
    isa_loops<AdamWLoops<T>>().adamw(end - begin, param + begin, m + begin, v + begin, grad + begin, factors);
  });
}

/// The sum of x^2, summed in double over fixed chunks.
template <class T>
double sum_of_squares(int64_t n, const T* x) {
  std::vector<double> parts(static_cast<size_t>((n + kElementsChunk - 1) / kElementsChunk));
  parallel_for(n, kElementsChunk, [&](int64_t begin, int64_t end) {
    parts[static_cast<size_t>(begin / kElementsChunk)] =
        isa_loops<AdamWLoops<T>>().sum_of_squares(end - begin, x + begin);
  });
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

}  // namespace gradus::kernels

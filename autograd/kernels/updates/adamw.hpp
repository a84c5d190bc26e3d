// One step of AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", 2019) and the norm that
// clips it.
//
// Pointers belong to the caller and do not overlap. Thread-safe; the same bits for any number of threads.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// AdamW with what is common to all elements worked out: param = shrink * param - rate * m / (sqrt(v) * root
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
/// step counts from 1. T: float, double.
template <class T>
void adamw(int64_t n, T* param, T* m, T* v, const T* grad, double lr, double beta1, double beta2, double eps,
           double weight_decay, int64_t step, double grad_scale);

/// The sum of x^2, summed in double over fixed blocks. T: float, double.
template <class T>
double sum_of_squares(int64_t n, const T* x);

}  // namespace gradus::kernels

// The elementwise parts of the optimizers, and the norm of a gradient.
#include <cmath>

#include "gradus/autograd/kernels/elementwise/optimizers.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels::GRADUS_ISA {

template <class T>
double sum_of_squares(int64_t n, const T* x) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

template <class T>
void adamw(int64_t n, T* param, T* m, T* v, const T* grad, const AdamWFactors<T>& f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i] * f.grad_scale;
    m[i] = f.beta1 * m[i] + f.one_minus_beta1 * g;
    v[i] = f.beta2 * v[i] + f.one_minus_beta2 * g * g;
    param[i] = param[i] * f.shrink - f.rate * (m[i] / (std::sqrt(v[i]) * f.root + f.eps));
  }
}

GRADUS_BUILD(AdamWLoops, adamw<T>, sum_of_squares<T>);

template <class T>
void look_ahead(int64_t n, T* ahead, T* sum, const T* grad, T momentum, T grad_scale) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i] * grad_scale;
    sum[i] = momentum * sum[i] + g;
    ahead[i] = momentum * sum[i] + g;
  }
}

template <class T>
void weighted_sum(int64_t n, T* out, T a, const T* x, T b, const T* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = a * x[i] + b * y[i];
}

GRADUS_BUILD(MuonLoops, look_ahead<T>, weighted_sum<T>);

}  // namespace gradus::kernels::GRADUS_ISA

// AdamW, and the norm of a gradient.
#include <cmath>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/updates/adamw.hpp"

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

}  // namespace gradus::kernels::GRADUS_ISA

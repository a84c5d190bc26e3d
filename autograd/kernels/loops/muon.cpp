// What a step of Muon does beside its products.
#include "gradus/autograd/kernels/updates/muon.hpp"

#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels::GRADUS_ISA {

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

// Rotary position embedding of one row.
#include "gradus/autograd/kernels/attention/rotary_embedding.hpp"

#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels::GRADUS_ISA {

template <class T>
void rotary_turn(int64_t half, T* y, const T* x, const T* cosines, const T* sines) {
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const T a = x[i], b = x[i + half];
    y[i] = a * cosines[i] - b * sines[i];
    y[i + half] = b * cosines[i] + a * sines[i];
  }
}

GRADUS_BUILD(RotaryLoops, rotary_turn<T>);

}  // namespace gradus::kernels::GRADUS_ISA

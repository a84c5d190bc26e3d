// The loop of rotary position embedding.
#include "gradus/autograd/kernels/elementwise/rotary_embedding.hpp"

#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels::GRADUS_ISA {

template <class T>
void rotate(int64_t heads, int64_t half, T* y, int64_t sy, const T* x, int64_t sx, const T* cosines,
            const T* sines, T sign) {
  for (; heads > 0; --heads, y += sy, x += sx) {
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
      const T a = x[i], b = x[i + half], sine = sign * sines[i];
      y[i] = a * cosines[i] - b * sine;
      y[i + half] = b * cosines[i] + a * sine;
    }
  }
}

GRADUS_BUILD(RotaryLoops, rotate<T>);

}  // namespace gradus::kernels::GRADUS_ISA

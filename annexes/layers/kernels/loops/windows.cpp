// Loops over neighbouring windows.
#include "gradus/annexes/layers/kernels/windows.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels::GRADUS_ISA {

// A constant stride lets compilers use vectors.
template <class T, int64_t kStride>
void max_with_stride(int64_t n, int64_t stride, T* __restrict best, int64_t* __restrict place, const T* x,
                     int64_t at) {
  const int64_t step = kStride > 0 ? kStride : stride;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T value = x[i * step];
    const bool better = (value > best[i]) | (value != value);
    best[i] = better ? value : best[i];
    place[i] = better ? at + i * step : place[i];
  }
}

template <class T>
void max_of_windows(int64_t n, int64_t stride, T* __restrict best, int64_t* __restrict place, const T* x,
                    int64_t at) {
  (stride == 1   ? max_with_stride<T, 1>
   : stride == 2 ? max_with_stride<T, 2>
                 : max_with_stride<T, 0>)(n, stride, best, place, x, at);
}

GRADUS_BUILD(WindowLoops, max_of_windows<T>);

}  // namespace gradus::kernels::GRADUS_ISA

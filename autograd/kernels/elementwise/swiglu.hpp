// silu(gate) * up of packed elements (Shazeer, "GLU variants improve transformer", arXiv 2002.05202).
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// Loops over n elements.
template <class T>
struct SwigluLoops {
  void (*forward)(int64_t n, T* y, const T* gate, const T* up);
  void (*grad)(int64_t n, T* ggate, T* gup, const T* gy, const T* gate, const T* up);
};

/// y = silu(gate) * up.
template <class T>
void swiglu(int64_t n, T* y, const T* gate, const T* up) {
  parallel_for(n, kRowsChunk, [&](int64_t begin, int64_t end) {
    isa_loops<SwigluLoops<T>>().forward(end - begin, y + begin, gate + begin, up + begin);
  });
}

/// The gradients of gate and up from gy, that of y; ggate may be gy: ggate = gy * up * silu'(gate), gup = gy
/// * silu(gate).
template <class T>
void swiglu_grad(int64_t n, T* ggate, T* gup, const T* gy, const T* gate, const T* up) {
  parallel_for(n, kRowsChunk, [&](int64_t begin, int64_t end) {
    isa_loops<SwigluLoops<T>>().grad(end - begin, ggate + begin, gup + begin, gy + begin, gate + begin,
                                     up + begin);
  });
}

}  // namespace gradus::kernels

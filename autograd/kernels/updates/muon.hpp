// The elementwise parts of a step of Muon (train/optimizers/muon.hpp), each in one pass over memory.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

template <class T>
struct MuonLoops {
  void (*look_ahead)(int64_t n, T* ahead, T* sum, const T* grad, T momentum, T grad_scale);
  void (*weighted_sum)(int64_t n, T* out, T a, const T* x, T b, const T* y);
};

/// With g = grad * grad_scale: sum = momentum * sum + g, ahead = momentum * sum + g. (n) each.
template <class T>
void look_ahead(int64_t n, T* ahead, T* sum, const T* grad, double momentum, double grad_scale) {
  parallel_for(n, kElementsChunk, [&](int64_t begin, int64_t end) {
    isa_loops<MuonLoops<T>>().look_ahead(end - begin, ahead + begin, sum + begin, grad + begin,
                                         static_cast<T>(momentum), static_cast<T>(grad_scale));
  });
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

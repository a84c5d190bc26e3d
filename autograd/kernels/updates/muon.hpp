// What a step of Muon (train/optimizers/muon.hpp) does beside its products, each in one pass over memory.
//
// Pointers belong to the caller. Thread-safe; the same bits for any number of threads.
#pragma once

#include <cstdint>

namespace gradus::kernels {

template <class T>
struct MuonLoops {
  void (*look_ahead)(int64_t n, T* ahead, T* sum, const T* grad, T momentum, T grad_scale);
  void (*weighted_sum)(int64_t n, T* out, T a, const T* x, T b, const T* y);
};

/// With g = grad * grad_scale: sum = momentum * sum + g, ahead = momentum * sum + g. (n) each, none
/// overlapping. T: float, double.
template <class T>
void look_ahead(int64_t n, T* ahead, T* sum, const T* grad, double momentum, double grad_scale);

/// out = a * x + b * y, (n) each; out may be x or y. T: float, double.
template <class T>
void weighted_sum(int64_t n, T* out, double a, const T* x, double b, const T* y);

}  // namespace gradus::kernels

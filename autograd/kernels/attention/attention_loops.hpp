// What the inner loops of attention do; loops/attention.cpp says how, once for each level of x86-64.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// How far past the end of a row of scores the loops write: to whole vectors, and the zeros that a tile of a
/// product reads beside a causal row.
inline constexpr int64_t kAttentionMargin = 16;

/// Of rows of scores (n). What follows them becomes 0: up to element `end`, kAttentionMargin of them at
/// least, and at most so many beyond.
template <class T>
struct AttentionLoops {
  /// s = exp(scale * s - max), where max first becomes the larger of itself and the row's largest scale * s;
  /// returns the sum of the new s.
  T (*exponentials)(int64_t n, int64_t end, T* s, T scale, T* max);

  /// From the scores s and the gradient g of the weights that met v: s becomes those weights, p * factor with
  /// p = exp(scale * s - max) * share, and g the gradient of the scores, scale * p * (g * factor - delta).
  /// factor, what dropout multiplies by, may be nullptr for all ones; it has the margin too.
  void (*gradients)(int64_t n, int64_t end, T* s, T* g, T scale, T max, T share, T delta, const T* factor);

  /// The sum of a * b over n elements.
  T (*dot)(int64_t n, const T* a, const T* b);
};

}  // namespace gradus::kernels

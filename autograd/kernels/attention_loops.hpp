// What the inner loops of attention do; levels/attention.cpp says how, once for each level of x86-64.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// How far past the end of a row of scores the loops write: to whole vectors, and the zeros that a tile of a
/// product reads beside a causal row.
inline constexpr int64_t kAttentionMargin = 16;

template <class T>
struct AttentionLoops {
  /// s = exp(scale * s - max), where max first becomes the larger of itself and the row's largest scale * s;
  /// returns the sum of the new s. s: (n), followed by kAttentionMargin elements that become 0.
  T (*exponentials)(int64_t n, T* s, T scale, T* max);

  /// From the scores s and the gradient g of the weights that met v: s becomes those weights, p * factor with
  /// p = exp(scale * s - max) * share, and g the gradient of the scores, scale * p * (g * factor - delta).
  /// factor, what dropout multiplies by, may be nullptr for all ones. s, g, factor: (n), followed by the
  /// margin; that of s and g becomes 0.
  void (*gradients)(int64_t n, T* s, T* g, T scale, T max, T share, T delta, const T* factor);
};

}  // namespace gradus::kernels

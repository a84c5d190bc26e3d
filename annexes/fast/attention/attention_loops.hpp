// The sizes of a call of attention, and its loops.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/elementwise/loop.hpp"

namespace gradus::kernels {

/// Sizes and options: q and out are (batch, heads, q_len, head_size), k and v (batch, kv_heads, k_len,
/// head_size). kv_heads divides heads; a head of k and v serves heads / kv_heads consecutive heads of q.
/// Causal: query i sees key j if j <= i + (k_len - q_len). A window hides the keys j <= i + (k_len - q_len) -
/// window; starts (batch, q_len) has the first key of each query, nullptr: all. Dropout is that of
/// kernels::dropout, with `key` and `offset`, of contiguous weights (batch, heads, q_len, k_len).
struct AttentionShape {
  int64_t batch, heads, kv_heads, q_len, k_len, head_size;
  bool causal;
  bool rounded;    ///< float only: products of operands rounded to bfloat16 (bf16_product.hpp)
  int32_t window;  ///< 0: none
  double scale, dropout;
  uint64_t key, offset;
  const int64_t* starts;
};

/// Elements that loops write beyond a row of scores: complete vectors, and zeros read after a causal row.
inline constexpr int64_t kAttentionMargin = 16;

/// Loops over a row of n scores. They set the elements beyond it to 0: up to `end`, but at least
/// kAttentionMargin elements; at most to kAttentionMargin beyond `end`.
template <class T>
struct AttentionLoops {
  /// max = the maximum of itself and the row's scale * s; s = exp(scale * s - max). Returns the sum of s.
  T (*exponentials)(int64_t n, int64_t end, T* s, T scale, T* max);

  /// s: scores, becomes the weights p * factor, p = exp(scale * s - max) * share; g: the gradient of those
  /// weights, becomes that of the scores, scale * p * (g * factor - delta). factor, of dropout, has the
  /// margin too; nullptr: all ones.
  void (*gradients)(int64_t n, int64_t end, T* s, T* g, T scale, T max, T share, T delta, const T* factor);

  /// The sum of a * b over n elements.
  T (*dot)(int64_t n, const T* a, const T* b);
};

}  // namespace gradus::kernels

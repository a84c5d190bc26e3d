// The sizes of a call of attention, and its inner loops, defined in loops/attention.cpp for each level of
// x86-64.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// Sizes and options of one call: q and out are (batch, heads, q_len, head_size), k and v (batch, kv_heads,
/// k_len, head_size); kv_heads divides heads, and each of k and v serves heads / kv_heads consecutive ones of
/// q. Causal: query i sees key j when j <= i + (k_len - q_len). Weights are dropped and
/// scaled as kernels::dropout does with the same `key` and `offset` to a contiguous (batch, heads, q_len,
/// k_len) tensor.
struct AttentionShape {
  int64_t batch, heads, kv_heads, q_len, k_len, head_size;
  bool causal;
  bool rounded;  ///< float only: products of operands rounded to bfloat16 (bf16_product.hpp)
  double scale;
  double dropout;
  uint64_t key, offset;
};

/// Strides of a (batch, heads, rows, head_size) view in elements; the innermost stride is 1.
struct View4 {
  int64_t batch, head, row;
};

/// How far past the end of a row of scores the loops write: to whole vectors, and the zeros that a tile of a
/// product reads beside a causal row.
inline constexpr int64_t kAttentionMargin = 16;

/// Loops over a row of n scores. The elements after it become 0: up to element `end`, kAttentionMargin at
/// least, and at most kAttentionMargin beyond `end`.
template <class T>
struct AttentionLoops {
  /// s = exp(scale * s - max), where max first becomes the larger of itself and the row's largest scale * s;
  /// returns the sum of the new s.
  T (*exponentials)(int64_t n, int64_t end, T* s, T scale, T* max);

  /// From the scores s and the gradient g of the weights that met v: s becomes those weights, p * factor with
  /// p = exp(scale * s - max) * share, and g the gradient of the scores, scale * p * (g * factor - delta).
  /// factor, dropout's, may be nullptr for all ones; it has the margin too.
  void (*gradients)(int64_t n, int64_t end, T* s, T* g, T scale, T max, T share, T delta, const T* factor);

  /// The sum of a * b over n elements.
  T (*dot)(int64_t n, const T* a, const T* b);
};

}  // namespace gradus::kernels

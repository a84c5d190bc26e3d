// What a call of attention is about. Plain values.
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

}  // namespace gradus::kernels

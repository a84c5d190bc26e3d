// Scaled-dot-product attention in blocks, without ever holding a (q_len, k_len) matrix per head in memory.
//
// Pointers and strides only; every buffer is the caller's. Results have the same bits for any number of
// threads. Thread-safe as long as no two calls write the same output; each thread keeps a small scratch
// buffer of its own. T is float or double.
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

/// out = dropout(softmax(scale * q @ k^T, masked)) @ v, and for attention_grad row_sums (batch, heads, q_len,
/// 2): each row's largest score, and the sum of exp(score - largest). Apart they keep the digits that their
/// logsumexp would lose where scores are large. A row that sees no key gives zeros, -inf and 1. Online
/// softmax over blocks of keys: Dao, FlashAttention-2 (arXiv 2307.08691), algorithm 1.
template <class T>
void attention(const AttentionShape& shape, T* out, View4 so, T* row_sums, const T* q, View4 sq, const T* k,
               View4 sk, const T* v, View4 sv);

/// Gradients of attention by q, k and v, written (not added) to gq, gk and gv, given gout, that of out, and
/// what attention returned. Recomputes the weights block by block: FlashAttention-2, algorithm 2.
template <class T>
void attention_grad(const AttentionShape& shape, T* gq, View4 sgq, T* gk, View4 sgk, T* gv, View4 sgv,
                    const T* gout, View4 sgo, const T* out, View4 so, const T* row_sums, const T* q, View4 sq,
                    const T* k, View4 sk, const T* v, View4 sv);

}  // namespace gradus::kernels

// Scaled dot product attention in tiles of scores, without a (q_len, k_len) matrix in memory. Each thread
// keeps a small scratch buffer.
#pragma once

#include "gradus/annexes/fast/attention/attention_loops.hpp"

namespace gradus::kernels {

/// out = dropout(softmax(scale * q @ k^T, masked)) @ v, and for attention_grad row_sums (batch, heads, q_len,
/// 2): each row's largest score and the sum of exp(score - largest), separately, because their logsumexp
/// would lose digits of large scores. A row that sees no key gives zeros, -inf and 1. Algorithm 1 of Dao,
/// FlashAttention-2 (arXiv 2307.08691).
template <class T>
void attention(const AttentionShape& shape, T* out, View4 so, T* row_sums, const T* q, View4 sq, const T* k,
               View4 sk, const T* v, View4 sv);

/// Writes the gradients of q, k and v from gout and the results of attention. Recomputes the weights tile by
/// tile: algorithm 2 of FlashAttention-2.
template <class T>
void attention_grad(const AttentionShape& shape, T* gq, View4 sgq, T* gk, View4 sgk, T* gv, View4 sgv,
                    const T* gout, View4 sgo, const T* out, View4 so, const T* row_sums, const T* q, View4 sq,
                    const T* k, View4 sk, const T* v, View4 sv);

}  // namespace gradus::kernels

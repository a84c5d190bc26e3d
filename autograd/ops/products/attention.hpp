// Attention in public ops, and its operands. Internal.
#pragma once

#include <cstdint>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus {

/// options.scale, or 1 / sqrt(head_size).
double scale_of(const AttentionOptions& options, int64_t head_size);

/// softmax(scale * q @ k^T) in public ops, (..., T, S); rows that may attend to nothing are zeros.
Tensor composed_weights(double scale, const Tensor& hidden, const Tensor& q, const Tensor& k,
                        const Tensor& mask = {});

/// k or v with heads repeated for q's, in public ops: (..., kv heads, S, hs) -> (..., heads, S, hs).
Tensor repeat_heads(const Tensor& x, int64_t heads);

struct Heads {
  Tensor q, k, v;  // (B, nh, T or S, hs)
};

/// (..., T, C) -> (..., nh, T, hs) in public ops.
Tensor split_heads(const Tensor& x, int64_t n_head);
/// (B, T, 3 C) -> q, k and v.
Heads split_parts(const Tensor& qkv, int64_t n_head);
/// (..., nh, T, hs) -> (..., T, C) in public ops.
Tensor merge_heads(const Tensor& x);

}  // namespace gradus

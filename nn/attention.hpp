// MultiHeadAttention: scaled dot-product self-attention in nh heads (Vaswani et al., arXiv 1706.03762,
// section 3.2).
//
// One projection makes queries, keys and values of all heads; attention reads them where they lie. Ownership
// and thread-safety as in module.hpp.
#pragma once

#include <optional>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/dropout.hpp"
#include "gradus/nn/kv_cache.hpp"
#include "gradus/nn/linear.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of a MultiHeadAttention.
struct MultiHeadAttentionOptions {
  bool causal = true;           ///< position t attends to positions <= t only
  bool bias = true;             ///< of the q, k, v projection
  bool projection = true;       ///< whether the heads' outputs are mixed by a last Linear
  bool projection_bias = true;  ///< of that Linear
  double dropout = 0.0;         ///< probability, of attention weights and of outputs alike
};

class MultiHeadAttention : public Module {
 public:
  /// n_embd = C features in n_head = nh heads of size hs = C / nh. Draws the values of c_attn, then those of
  /// c_proj. Throws Error if n_head does not divide n_embd, and as Linear and Dropout do.
  MultiHeadAttention(int64_t n_embd, int64_t n_head, Generator& generator,
                     const MultiHeadAttentionOptions& options = {});

  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;  ///< (B, T, C) -> (B, T, C)

  /// An empty cache for sequences of up to `capacity` positions.
  KVCache make_cache(int64_t batch, int64_t capacity) const;
  /// The outputs for T more positions, which it appends to the cache: the same as the last T of a call with
  /// all positions in evaluation mode. Never drops, is not recorded. x: (B, T, C) -> (B, T, C). Throws Error
  /// if the cache is too small or the attention is not causal.
  Tensor decode(const Tensor& x, KVCache& cache) const;

  void visit(Visitor& v) override { v("c_attn", c_attn, Role::fused(3))("c_proj", c_proj)("drop", drop); }

  Linear c_attn;                 ///< C -> 3C: q, k, v
  std::optional<Linear> c_proj;  ///< C -> C
  Dropout drop;                  ///< of outputs; weights are dropped as they are made

 private:
  Tensor project(const Tensor& x) const;  ///< (B, T, C) -> (B, T, 3C)
  Tensor mix(const Tensor& y) const;      ///< c_proj, if there is one

  int64_t n_head_;
  bool causal_;
};

}  // namespace gradus::nn

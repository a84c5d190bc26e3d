// GroupedQueryAttention: self-attention as Llama has it. Queries and keys are turned by their positions (Su
// et al., arXiv 2104.09864), several heads of queries share one of keys and values (Ainslie et al., arXiv
// 2305.13245), and both may be normalised first (Henry et al., arXiv 2010.04245, as Qwen3 does it).
//
// Ownership and thread-safety as in module.hpp.
#pragma once

#include <optional>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/dropout.hpp"
#include "gradus/nn/kv_cache.hpp"
#include "gradus/nn/linear.hpp"
#include "gradus/nn/module.hpp"
#include "gradus/nn/rms_norm.hpp"

namespace gradus::nn {

/// Options of a GroupedQueryAttention.
struct GroupedQueryAttentionOptions {
  bool causal = true;           ///< position t attends to positions <= t only
  double rope_theta = 10000.0;  ///< base of the angles: see rotary_embedding()
  bool qk_norm = false;    ///< whether each head's queries and keys are normalised, before they are turned
  double norm_eps = 1e-6;  ///< of those norms
  double dropout = 0.0;    ///< probability, of attention weights and of outputs alike
};

class GroupedQueryAttention : public Module {
 public:
  /// n_embd = C features in n_head = nh heads of queries, of size hs = C / nh, and n_kv_head = n heads of
  /// keys and values. Draws the values of q_proj, k_proj, v_proj and o_proj, in this order; none has a bias.
  /// Throws Error unless n_kv_head divides n_head, n_head divides n_embd and hs is even, and as Linear and
  /// Dropout do.
  GroupedQueryAttention(int64_t n_embd, int64_t n_head, int64_t n_kv_head, Generator& generator,
                        const GroupedQueryAttentionOptions& options = {});

  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;  ///< (B, T, C) -> (B, T, C)

  /// An empty cache for sequences of up to `capacity` positions; it holds n heads, of keys that are turned.
  KVCache make_cache(int64_t batch, int64_t capacity) const;
  /// The outputs for T more positions, which it appends to the cache: the same as the last T of a call with
  /// all positions in evaluation mode. Never drops, is not recorded. x: (B, T, C) -> (B, T, C). Throws Error
  /// if the cache is too small or the attention is not causal.
  Tensor decode(const Tensor& x, KVCache& cache) const;

  void visit(Visitor& v) override {
    v("q_proj", q_proj)("k_proj", k_proj)("v_proj", v_proj)("o_proj", o_proj);
    v("q_norm", q_norm)("k_norm", k_norm)("drop", drop);
  }

  Linear q_proj;                          ///< C -> C
  Linear k_proj, v_proj;                  ///< C -> n hs
  Linear o_proj;                          ///< C -> C
  std::optional<RMSNorm> q_norm, k_norm;  ///< over hs, the same for all heads
  Dropout drop;                           ///< of outputs; weights are dropped as they are made

 private:
  struct Heads {
    Tensor q, k, v;  // (B, nh, T, hs) and (B, n, T, hs)
  };
  Heads project(const Tensor& x, int64_t start) const;  // at positions start, start + 1, ...
  Tensor mix(const Tensor& heads) const;                // (B, nh, T, hs) -> (B, T, C)

  int64_t kv_heads_, head_size_;
  GroupedQueryAttentionOptions options_;
};

}  // namespace gradus::nn

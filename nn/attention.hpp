// Self-attention of decoders, by scaled dot products in nh heads of size hs (Vaswani et al., arXiv
// 1706.03762, section 3.2): GPT-2's MultiHeadAttention, Llama's GroupedQueryAttention, and their KVCache.
//
// Ownership and thread-safety as in module.hpp; a KVCache belongs to one batch of sequences and one layer.
#pragma once

#include <algorithm>
#include <optional>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// The key/value cache: keys and values of the positions that were read. Generation computes only new ones.
struct KVCache {
  Tensor k, v;         ///< (B, heads, capacity, hs); the first `length` positions are filled
  int64_t length = 0;  ///< positions

  void clear() { length = 0; }  ///< forgets all positions, keeps the memory
  /// Forgets the positions from `end` on.
  void truncate(int64_t end) { length = (std::min)(length, end); }
  /// Copies T more positions into the cache. keys, values: (B, heads, T, hs), which get no gradient through
  /// the cache. Throws Error if it is full, and for other shapes.
  void append(const Tensor& keys, const Tensor& values);
  Tensor keys() const { return k.slice(2, 0, length); }    ///< (B, heads, length, hs)
  Tensor values() const { return v.slice(2, 0, length); }  ///< (B, heads, length, hs)
};

/// The most positions for which attend() gives the same bits together as one by one.
inline constexpr int64_t kFewPositions = 8;

/// Causal attention of the last T positions of a cache, with the window of AttentionOptions.
/// q: (B, nh, T, hs) -> (B, nh, T, hs). If T is at most kFewPositions, each position has the same bits as if
/// it were the last one.
Tensor attend(const Tensor& q, const KVCache& cache, int64_t window = 0);

/// An empty cache for up to `capacity` positions: float64 if that is the dtype of the weights, else float32.
KVCache make_kv_cache(int64_t batch, int64_t heads, int64_t capacity, int64_t head_size, DType weights);

/// Options of a MultiHeadAttention.
struct MultiHeadAttentionOptions {
  bool causal = true;           ///< position t attends to positions <= t only
  bool bias = true;             ///< of the q, k, v projection
  bool projection = true;       ///< whether the heads' outputs are mixed by a last Linear
  bool projection_bias = true;  ///< of that Linear
  double dropout = 0.0;         ///< probability, for attention weights and for outputs
};

/// Attention whose queries, keys and values come from one projection, as in GPT-2.
class MultiHeadAttention : public Module {
 public:
  /// n_embd = C features in n_head = nh heads of size hs = C / nh. Draws the values of c_attn, then those of
  /// c_proj. Throws Error if n_head does not divide n_embd, and as Linear and Dropout do.
  MultiHeadAttention(int64_t n_embd, int64_t n_head, Generator& generator,
                     const MultiHeadAttentionOptions& options = {});

  /// (B, T, C) -> (B, T, C). `starts`: see AttentionOptions.
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr, const Tensor& starts = {}) const;

  /// An empty cache for sequences of up to `capacity` positions.
  KVCache make_cache(int64_t batch, int64_t capacity) const;
  /// The outputs for T more positions, which it appends to the cache: the same as the last T of a call with
  /// all positions in evaluation mode. Drops nothing; is not recorded. x: (B, T, C) -> (B, T, C). Throws
  /// Error if the cache is too small or the attention is not causal.
  Tensor decode(const Tensor& x, KVCache& cache) const;

  void visit(Visitor& v) override { v("c_attn", c_attn, Role::fused(3))("c_proj", c_proj)("drop", drop); }

  Linear c_attn;                 ///< C -> 3C: q, k, v
  std::optional<Linear> c_proj;  ///< C -> C
  Dropout drop;                  ///< of outputs; weights are dropped as they are computed

 private:
  struct Heads {
    Tensor q, k, v;  // (B, nh, T, hs)
  };
  Tensor project(const Tensor& x, Generator* dropout = nullptr) const;  // (B, T, C) -> (B, T, 3C)
  Heads split(const Tensor& qkv) const;                                 // (B, T, 3C)
  // c_proj, if there is one: (B, T, C) -> (B, T, C)
  Tensor mix(const Tensor& heads, Generator* dropout = nullptr) const;

  int64_t n_head_;
  bool causal_;
};

/// Options of a GroupedQueryAttention.
struct GroupedQueryAttentionOptions {
  bool causal = true;            ///< position t attends to positions <= t only
  double rope_theta = 10000.0;   ///< base of the angles: see rotary_embedding()
  Tensor rope_frequencies{};     ///< float64 (hs / 2), instead of those of rope_theta
  double rope_scale = 1.0;       ///< of the rotated queries and keys
  int64_t head_size = 0;         ///< hs; 0: C / nh
  int64_t window = 0;            ///< positions that a query sees, with its own; 0: all. See AttentionOptions
  bool bias = false;             ///< of q_proj, k_proj and v_proj
  bool projection_bias = false;  ///< of o_proj
  bool qk_norm = false;      ///< whether each head's queries and keys are normalised before they are rotated
  double norm_eps = 1e-6;    ///< of those norms
  bool unit_offset = false;  ///< of those norms: see RMSNormOptions
  double dropout = 0.0;      ///< probability, for attention weights and for outputs
};

/// Attention as in Llama: queries and keys are rotated by their positions (Su et al., arXiv 2104.09864),
/// several heads of queries share one of keys and values (Ainslie et al., arXiv 2305.13245), and both may be
/// normalised first (Henry et al., arXiv 2010.04245, as in Qwen3).
class GroupedQueryAttention : public Module {
 public:
  /// n_embd = C features, n_head = nh heads of queries of size hs, and n_kv_head = n heads of keys and
  /// values. Draws the values of q_proj, k_proj, v_proj and o_proj, in this order. Throws Error unless
  /// n_kv_head divides n_head, n_head divides n_embd or head_size is given, and hs is even, and as Linear and
  /// Dropout do.
  GroupedQueryAttention(int64_t n_embd, int64_t n_head, int64_t n_kv_head, Generator& generator,
                        const GroupedQueryAttentionOptions& options = {});

  /// (B, T, C) -> (B, T, C). `starts`: see AttentionOptions.
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr, const Tensor& starts = {}) const;

  /// An empty cache for sequences of up to `capacity` positions; it holds n heads, with rotated keys.
  KVCache make_cache(int64_t batch, int64_t capacity) const;
  /// See MultiHeadAttention::decode().
  Tensor decode(const Tensor& x, KVCache& cache) const;

  void visit(Visitor& v) override {
    v("q_proj", q_proj)("k_proj", k_proj)("v_proj", v_proj)("o_proj", o_proj);
    v("q_norm", q_norm)("k_norm", k_norm)("drop", drop);
  }

  Linear q_proj;                          ///< C -> nh hs
  Linear k_proj, v_proj;                  ///< C -> n hs
  Linear o_proj;                          ///< nh hs -> C
  std::optional<RMSNorm> q_norm, k_norm;  ///< over hs, the same for all heads
  Dropout drop;                           ///< of outputs; weights are dropped as they are computed

 private:
  GroupedQueryAttention(int64_t n_embd, int64_t n_head, int64_t n_kv_head, int64_t hs, Generator& generator,
                        const GroupedQueryAttentionOptions& options);
  struct Heads {
    Tensor q, k, v;  // (B, nh, T, hs) and (B, n, T, hs)
  };
  // At positions start, start + 1, ...
  Heads project(const Tensor& x, int64_t start, Generator* dropout = nullptr) const;
  // (B, nh, T, hs) -> (B, T, C)
  Tensor mix(const Tensor& heads, Generator* dropout = nullptr) const;

  int64_t kv_heads_, head_size_;
  GroupedQueryAttentionOptions options_;
};

}  // namespace gradus::nn

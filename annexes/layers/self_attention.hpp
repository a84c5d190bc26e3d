// SelfAttention: the self-attention of tutorials. One layer has an option for each difference between them.
//
//   q = x W_query^T    k = x W_key^T    v = x W_value^T
//   weights = softmax(q k^T / sqrt(hs))         (Vaswani et al., arXiv 1706.03762, eq. 1)
//   context = dropout(weights) v
//
// Free functions compute single steps of it. For training use MultiHeadAttention, which computes the same
// faster and does not store the scores.
//
// Ownership and thread-safety as in module.hpp.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// The step to which a mask is applied.
enum class MaskOn {
  nothing,  ///< every token attends to every other
  scores,   ///< masked scores become `fill`, before the softmax
  /// Masked weights become 0, after the softmax; each row is then divided by its sum. Differs in rounding,
  /// which depends on later tokens; if a later score is larger by 100 or more, the result is 0 / 0.
  weights,
};

/// Options of a SelfAttention. If all scores of a token are masked, its weights are NaN (with a fill of -inf,
/// or MaskOn::weights), or equal (with a finite fill); with `safe` they are 0.
struct SelfAttentionOptions {
  MaskOn mask_on = MaskOn::scores;  ///< scores and weights use a causal mask unless another is given
  double fill = -std::numeric_limits<double>::infinity();  ///< the score of masked positions
  bool scaled = true;                                      ///< scores are divided by sqrt(hs)
  bool safe = false;                                       ///< a token whose scores are all masked gets zeros
  double dropout = 0.0;                                    ///< probability, of weights
  int64_t num_heads = 1;                                   ///< must divide d_out; hs = d_out / num_heads
  bool projection = false;                                 ///< whether a last Linear mixes the heads
  bool bias = false;                                       ///< of all Linear layers
  int64_t context_length = 0;                              ///< most tokens that x may have; 0: any number
  int64_t row_dim = -2;                                    ///< of x: its tokens
  int64_t col_dim = -1;                                    ///< of x: the features of a token
};

/// True where the key's position s is later than the query's position t: s > t. -> (tokens, tokens) bool
Tensor causal_mask(int64_t tokens);
/// q (..., T, hs), k (..., S, hs) -> q k^T (..., T, S), divided by sqrt(hs) if scaled.
Tensor attention_scores(const Tensor& q, const Tensor& k, bool scaled = true);
/// softmax over the last dimension of scores (..., T, S), with the mask (bool, true: masked) by the options.
Tensor attention_weights(const Tensor& scores, const Tensor& mask, const SelfAttentionOptions& options);
/// The context vector of a token: x_query (d_in), x (T, d_in), weights (d_in, d_out), as x @ W -> (d_out).
Tensor context_vector(const Tensor& x_query, const Tensor& x, const Tensor& W_query, const Tensor& W_key,
                      const Tensor& W_value);

/// Self-attention, computed step by step according to its options.
class SelfAttention : public Module {
 public:
  /// Maps d_in to d_out features of a token. Draws W_query, W_key, W_value, out, in this order. Throws Error
  /// for sizes below 1, num_heads that does not divide d_out, heads with other dims, and as Linear, Dropout.
  SelfAttention(int64_t d_in, int64_t d_out, Generator& generator, const SelfAttentionOptions& options = {});

  /// Masks causally, unless mask_on is nothing. x: (..., T, d_in) -> (..., T, d_out). Throws for others.
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;
  /// Applies the given mask: bool, (T, T) or broadcast to the scores; true: masked. Throws as above.
  Tensor operator()(const Tensor& x, const Tensor& mask, Generator* dropout = nullptr) const;

  const SelfAttentionOptions& options() const { return options_; }  ///< as given to the constructor
  void visit(Visitor& v) override {
    v("W_query", W_query)("W_key", W_key)("W_value", W_value)("out", out)("drop", drop);
  }

  Linear W_query, W_key, W_value;  ///< d_in -> d_out
  std::optional<Linear> out;       ///< d_out -> d_out
  Dropout drop;                    ///< of weights

 private:
  SelfAttentionOptions options_;
};

/// num_heads SelfAttention layers of d_out features, concatenated. One layer with num_heads gives it faster.
class StackedHeads : public Module {
 public:
  /// `head` has the options of each head. Throws Error unless its num_heads is 1.
  StackedHeads(int64_t d_in, int64_t d_out, int64_t num_heads, Generator& generator,
               const SelfAttentionOptions& head = {});

  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;  ///< -> (..., num_heads * d_out)
  void visit(Visitor& v) override { v("heads", heads); }

  std::vector<SelfAttention> heads;  ///< in the order of their features in the output
};

}  // namespace gradus::nn

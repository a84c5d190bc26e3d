// Layers of encoder-decoder transformers: CrossAttention, TransformerEncoderLayer and TransformerDecoderLayer
// (Vaswani et al., arXiv 1706.03762). Their names and initial values are PyTorch's.
//
// N, T, S, E: batch, queries, keys, embed_dim. Sequences are (T, N, E), (N, T, E) if batch_first, or (T, E).
// In a bool mask, true hides; a float mask is added to the scores. A query that may attend to nothing gets
// weights of 0. Ownership and thread-safety as in module.hpp.
#pragma once

#include <optional>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of a CrossAttention, with PyTorch's defaults.
struct CrossAttentionOptions {
  double dropout = 0.0;           ///< probability, of attention weights
  bool bias = true;               ///< of all projections
  std::optional<int64_t> kdim{};  ///< features of keys; embed_dim if absent
  std::optional<int64_t> vdim{};  ///< features of values; embed_dim if absent
  bool batch_first = false;       ///< whether sequences are (N, T, E) instead of (T, N, E)
};

/// Masks of a call, and what it returns.
struct CrossAttentionCall {
  Tensor key_padding_mask{};         ///< (N, S), or (S) without a batch: keys that no query attends to
  bool need_weights = true;          ///< whether to return the weights; false is faster
  Tensor attn_mask{};                ///< (T, S), or (N num_heads, T, S) for each head
  bool average_attn_weights = true;  ///< whether the returned weights are the mean of the heads
  bool is_causal = false;            ///< query t attends to keys <= t only, besides the masks
};

/// The results of a CrossAttention.
struct AttentionOutput {
  Tensor output;   ///< like the query
  Tensor weights;  ///< (N, T, S), or (N, num_heads, T, S) for each head; undefined if not needed
};

/// torch.nn.MultiheadAttention: attention of queries to the keys and values of any sequence.
class CrossAttention : public Module {
 public:
  /// Projections start Xavier-uniform, except out_proj, which starts as a Linear; biases start at 0. Draws
  /// out_proj first. Throws Error if num_heads does not divide embed_dim, and as Linear and Dropout do.
  CrossAttention(int64_t embed_dim, int64_t num_heads, Generator& generator,
                 const CrossAttentionOptions& options = {});

  /// query: (T, N, E), key: (S, N, kdim), value: (S, N, vdim), or other layouts as above. The generator is
  /// needed in training mode with dropout > 0. Throws Error for other shapes.
  AttentionOutput operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                             const CrossAttentionCall& call = {}, Generator* dropout = nullptr) const;
  void visit(Visitor& v) override;

  Tensor in_proj_weight;  ///< (3 E, E): q, k, v; undefined for another kdim or vdim
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;  ///< (E, E), (E, kdim), (E, vdim); instead of it
  Tensor in_proj_bias;                                 ///< (3 E) or undefined
  Linear out_proj;                                     ///< E -> E

 private:
  Tensor heads(int64_t part, const Tensor& x) const;  // projected: (N, num_heads, T, E / num_heads)

  int64_t num_heads_;
  CrossAttentionOptions options_;
};

/// The activation between linear1 and linear2.
enum class FeedForward { relu, gelu };

/// Options of transformer layers, with PyTorch's defaults.
struct TransformerLayerOptions {
  int64_t dim_feedforward = 2048;              ///< features between linear1 and linear2
  double dropout = 0.1;                        ///< probability, everywhere
  FeedForward activation = FeedForward::relu;  ///< between linear1 and linear2
  double layer_norm_eps = 1e-5;                ///< added to variances
  bool batch_first = false;                    ///< whether sequences are (N, T, E) instead of (T, N, E)
  bool norm_first = false;  ///< whether norms come before the blocks instead of after the sums
};

/// The members of both transformer layers: self-attention, in a decoder attention to the memory, then
/// linear2(activation(linear1(x))), each added to its input.
class TransformerLayer : public Module {
 public:
  void visit(Visitor& v) override;

  CrossAttention self_attn;                      ///< queries, keys and values are the layer's input
  std::optional<CrossAttention> multihead_attn;  ///< of a decoder: keys and values are the memory
  Linear linear1;                                ///< E -> dim_feedforward
  Dropout dropout;                               ///< of the activation
  Linear linear2;                                ///< dim_feedforward -> E
  LayerNorm norm1, norm2;                        ///< of the blocks, in their order
  std::optional<LayerNorm> norm3;                ///< of a decoder
  Dropout dropout1, dropout2;                    ///< of what is added
  std::optional<Dropout> dropout3;               ///< of a decoder

 protected:
  /// Throws Error as CrossAttention, Linear and Dropout do.
  TransformerLayer(bool is_decoder, int64_t d_model, int64_t nhead, Generator& generator,
                   const TransformerLayerOptions& options);
  /// The result for x, with the calls of both attentions.
  Tensor run(Tensor x, const CrossAttentionCall& own, const Tensor& memory, const CrossAttentionCall& cross,
             Generator* generator) const;

 private:
  TransformerLayerOptions options_;
};

/// Masks of a TransformerEncoderLayer, as in CrossAttentionCall.
struct EncoderMasks {
  Tensor src_mask{};              ///< (T, T), or (N nhead, T, T)
  Tensor src_key_padding_mask{};  ///< (N, T)
  bool is_causal = false;         ///< position t attends to positions <= t only
};

/// Self-attention and a feed-forward block.
class TransformerEncoderLayer : public TransformerLayer {
 public:
  /// Throws Error as CrossAttention, Linear and Dropout do.
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, Generator& generator,
                          const TransformerLayerOptions& options = {})
      : TransformerLayer(/*is_decoder=*/false, d_model, nhead, generator, options) {}

  /// The result is like src. The generator is needed in training mode with dropout > 0.
  Tensor operator()(const Tensor& src, const EncoderMasks& masks = {}, Generator* generator = nullptr) const;
  /// The same without masks.
  Tensor operator()(const Tensor& src, Generator* generator) const { return (*this)(src, {}, generator); }
};

/// Masks of a TransformerDecoderLayer, as in CrossAttentionCall.
struct DecoderMasks {
  Tensor tgt_mask{};                 ///< (T, T), or (N nhead, T, T)
  Tensor memory_mask{};              ///< (T, S), or (N nhead, T, S)
  Tensor tgt_key_padding_mask{};     ///< (N, T)
  Tensor memory_key_padding_mask{};  ///< (N, S)
  bool tgt_is_causal = false;        ///< position t of tgt attends to positions <= t of tgt only
  bool memory_is_causal = false;     ///< position t of tgt attends to positions <= t of memory only
};

/// Self-attention, attention to the encoder's output, and a feed-forward block.
class TransformerDecoderLayer : public TransformerLayer {
 public:
  /// Throws Error as CrossAttention, Linear and Dropout do.
  TransformerDecoderLayer(int64_t d_model, int64_t nhead, Generator& generator,
                          const TransformerLayerOptions& options = {})
      : TransformerLayer(/*is_decoder=*/true, d_model, nhead, generator, options) {}

  /// The result is like tgt. memory: (S, N, E), or other layouts as above. The generator is needed in
  /// training mode with dropout > 0.
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks = {},
                    Generator* generator = nullptr) const;
};

}  // namespace gradus::nn

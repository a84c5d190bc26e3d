// DecoderConfig: the shape of a decoder, which determines its number of parameters and its memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/dtype.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::models {

/// How rotary frequencies of a trained model are scaled for longer contexts, with the names of config.json.
struct RopeScaling {
  std::string type{};                                    ///< linear, llama3 or yarn; empty: none
  double factor = 1.0;                                   ///< of the context length
  int64_t original_length = 0;                           ///< llama3, yarn: the context length before
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  ///< llama3
  double beta_fast = 32.0, beta_slow = 1.0;              ///< yarn
  double attention_factor = 1.0;                         ///< yarn: factor of rotated queries and keys
  bool truncate = true;                                  ///< yarn: whether its limits are whole numbers

  bool operator==(const RopeScaling&) const = default;
};

/// Further options of attention, as models of other programs have them.
struct AttentionVariant {
  RopeScaling rope_scaling{};    ///< of the rotary angles
  int64_t head_dim = 0;          ///< features of a head; 0: n_embd / n_head
  bool qkv_bias = false;         ///< whether queries, keys and values have biases, as in Qwen2
  bool projection_bias = false;  ///< whether the output of the attention has one, too
  int64_t window = 0;          ///< tokens that a query sees, including its own; 0: all. See AttentionOptions
  int64_t window_from = 0;     ///< the first block with the window
  int64_t window_pattern = 0;  ///< gemma: every window_pattern-th block has no window

  bool operator==(const AttentionVariant&) const = default;
};

struct DecoderConfig {
  std::string arch = "gpt2";  ///< one of arch_names()
  int64_t vocab_size = 0;     ///< V, tokens
  int64_t block_size = 64;    ///< context length in training, tokens
  int64_t n_layer = 4;        ///< blocks
  int64_t n_head = 4;         ///< must divide n_embd, unless head_dim is given
  int64_t n_embd = 128;       ///< C, features of a token
  double dropout = 0.0;       ///< probability, in [0, 1)
  bool bias = true;           ///< in Linear and LayerNorm, as in GPT-2; false for others
  double norm_eps = 1e-5;     ///< of every norm

  // Options of some architectures; other architectures require the defaults.
  int64_t n_kv_head = 0;         ///< heads of keys and values, must divide n_head; 0: n_head
  int64_t n_inner = 0;           ///< features inside the MLP; 0: the architecture's usual number
  double rope_theta = 10000.0;   ///< base of the rotary angles: see rotary_embedding()
  bool qk_norm = false;          ///< whether heads of queries and keys are normalised, as in Qwen3
  AttentionVariant attention{};  ///< further options of attention

  int64_t n_member = 1;  ///< decoders whose probabilities are averaged: above 1, the model is an ensemble

  bool tie_word_embeddings = true;  ///< whether the output projection is the token embedding

  /// Features of a head.
  int64_t head_size() const { return attention.head_dim > 0 ? attention.head_dim : n_embd / n_head; }
  /// Heads of keys and values.
  int64_t kv_heads() const { return n_kv_head > 0 ? n_kv_head : n_head; }
  /// Features inside the MLP.
  int64_t inner() const;
  /// The config with 0 for each size that equals its default. The reduced configs of equal models are equal.
  DecoderConfig reduced() const;
  /// Most tokens of a sequence: block_size, or, for a recurrent decoder, practically unlimited.
  int64_t context_limit() const;

  /// Throws Error with the name of the first invalid field, its constraint and its value.
  void validate() const;
  /// Number of elements of all parameters. The config must be valid.
  int64_t num_parameters() const;
  /// Names and shapes of all parameters, in order. The config must be valid.
  nn::NamedShapes parameter_shapes() const;

  bool operator==(const DecoderConfig&) const = default;
};

std::vector<std::string> arch_names();  ///< of all architectures

/// The config of a preset, with vocab_size 0. Throws Error for a name that is not in preset_names().
DecoderConfig preset(std::string_view name);
std::vector<std::string> preset_names();  ///< of all architectures, the smallest first

/// An estimate of memory in bytes. Bytes are double, so that no size overflows.
struct MemoryEstimate {
  double parameters = 0;   ///< the model
  double gradients = 0;    ///< of the parameters
  double optimizer = 0;    ///< its state: two values per element, as for AdamW
  double update = 0;       ///< temporary memory of the optimizer, on all threads
  double average = 0;      ///< the averaged parameters, if a run has them
  double packed = 0;       ///< the parameters packed for products in bfloat16
  double activations = 0;  ///< saved for backward, and their gradients
  double program = 0;      ///< code, stacks, BLAS's buffers
  /// The sum of all.
  double total() const {
    return parameters + gradients + optimizer + update + average + packed + activations + program;
  }
};
/// The peak resident memory of training steps on `batch` sequences of block_size tokens, with products in
/// float32 or bfloat16 (Autocast), to within 10 %, without the text and evaluations.
MemoryEstimate training_memory(const DecoderConfig& config, int64_t batch, DType products = DType::float32);
/// The same for reading `read` tokens at once, with the decoding state of `kept` tokens and the logits of
/// `logits` tokens (see kMostLogits). The members of an ensemble read one after the other.
MemoryEstimate generation_memory(const DecoderConfig& config, int64_t read, int64_t kept, int64_t logits = 1);

/// The settings of the loss that a decoder is trained with; train::TrainConfig has them.
struct LossSettings {
  double teacher_weight = 0.7;  ///< in [0, 1]: see Decoder::distillation_loss()
};

}  // namespace gradus::models

// GPTConfig: the shape of a decoder, what it costs, and the shapes that have names. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/dtype.hpp"
#include "gradus/autograd/tensor/shape.hpp"

namespace gradus::models {

/// Which decoder: GPT-2's (Radford et al., 2019), or Llama's (Touvron et al., arXiv 2302.13971) with rotary
/// positions, RMSNorm, SwiGLU, heads of queries that share keys and values, and no biases.
enum class Arch { gpt2, llama };
std::string_view name(Arch arch);       ///< "gpt2" or "llama"
Arch arch_from(std::string_view name);  ///< throws Error for another name
std::vector<std::string> arch_names();  ///< of all

struct GPTConfig {
  Arch arch = Arch::gpt2;   ///< what the blocks are made of
  int64_t vocab_size = 0;   ///< V, tokens
  int64_t block_size = 64;  ///< longest sequence, tokens
  int64_t n_layer = 4;      ///< blocks
  int64_t n_head = 4;       ///< must divide n_embd
  int64_t n_embd = 128;     ///< C, features of a token
  double dropout = 0.0;     ///< probability, in [0, 1)
  bool bias = true;         ///< in Linear and LayerNorm, as in GPT-2; false for llama
  double norm_eps = 1e-5;   ///< of every norm

  // What llama may choose; gpt2 has these as they are.
  int64_t n_kv_head = 0;        ///< heads of keys and values, must divide n_head; 0: as many
  int64_t n_inner = 0;          ///< features inside the MLP; 0: 8/3 n_embd, rounded up to a multiple of 32
  double rope_theta = 10000.0;  ///< base of the rotary angles: see rotary_embedding()
  bool qk_norm = false;         ///< whether heads of queries and keys are normalised, as in Qwen3

  bool tie_word_embeddings = true;  ///< whether the output projection is the token embedding

  /// Heads of keys and values.
  int64_t kv_heads() const { return n_kv_head > 0 ? n_kv_head : n_head; }
  /// Features inside the MLP: 4 n_embd for gpt2.
  int64_t inner() const;

  /// Throws Error that names the first field that is wrong, what must hold and what came.
  void validate() const;
  /// Elements of all parameters of such a model, by closed formula. The config must be valid.
  int64_t num_parameters() const;
  /// Names and shapes of all parameters of such a model, in their order. The config must be valid.
  std::vector<std::pair<std::string, Shape>> parameter_shapes() const;

  bool operator==(const GPTConfig&) const = default;
};

/// tiny, nano, small or gpt2, or of llama's parts mini, midi or maxi, with vocab_size left at 0. Throws Error
/// for another name.
GPTConfig preset(std::string_view name);
std::vector<std::string> preset_names();  ///< the smallest first

/// Bytes, as double so that absurd sizes do not overflow.
struct MemoryEstimate {
  double parameters = 0;   ///< the model
  double gradients = 0;    ///< one an element
  double optimizer = 0;    ///< its moments; two an element, as AdamW has
  double update = 0;       ///< what the optimizer works with beside them, on all threads
  double average = 0;      ///< means of the parameters, if a run keeps them
  double packed = 0;       ///< the parameters as products in bfloat16 read them, kept between updates
  double activations = 0;  ///< what a forward keeps for its backward, and gradients on their way
  double program = 0;      ///< code, stacks, BLAS's buffers
  /// All of them.
  double total() const {
    return parameters + gradients + optimizer + update + average + packed + activations + program;
  }
};
/// What a process holds at its peak, resident, in training steps on `batch` sequences of block_size tokens,
/// with products in float32 or bfloat16 (Autocast): right to a tenth (the text and evaluations not counted).
MemoryEstimate training_memory(const GPTConfig& config, int64_t batch, DType products = DType::float32);
/// The same for generating one sequence: parameters, and the cache of keys and values.
MemoryEstimate generation_memory(const GPTConfig& config);

}  // namespace gradus::models

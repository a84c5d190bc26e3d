// Architecture: an entry of the registry of architectures. All code outside models/ that depends on a
// decoder's architecture uses it, or its StoredForm if files are concerned. The entries are at the ends of
// gpt2.cpp, llama.cpp, gemma.cpp and mingru.cpp; architectures.cpp lists them. Immutable, so thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/models/decoder.hpp"

namespace gradus::models {

/// The position encoding of a decoder.
enum class Positions {
  learned,   ///< a table with a row for each position of the context
  rotary,    ///< queries and keys rotated by their positions
  recurrent  ///< a state of fixed size, without attention and without a context limit
};

/// A named shape.
struct Preset {
  std::string_view name;
  std::string_view about;  ///< for the help
  DecoderConfig config;    ///< without a vocabulary
  /// Number of tokens from which `--minutes` prefers it to smaller presets of its architecture; none: never.
  std::optional<double> least_tokens = {};
};

/// Memory besides the parameters, in numbers of 4 bytes.
struct DecoderCost {
  double saved = 0;      ///< by a block for its backward, per token
  double gradients = 0;  ///< within one block during backward, per token
  double decoding = 0;   ///< at the widest point of a block while a prompt is read, per token
  double position = 0;   ///< of the decoding state, per position
  double state = 0;      ///< of the decoding state, independent of its length
};

struct Architecture {
  std::string_view name;        ///< for --arch
  std::string_view parts;       ///< for the help of --arch
  Positions positions;          ///< the position encoding
  bool has_bias = false;        ///< default of DecoderConfig::bias
  std::vector<Preset> presets;  ///< the smallest first
  /// Whether norms multiply by 1 + weight, and outputs of attention and MLP are normalised too, as in Gemma.
  bool has_outer_norms = false;

  std::unique_ptr<Backbone> (*make)(const DecoderConfig& config, Generator& init);
  /// The default number of features inside the MLP.
  int64_t (*inner)(int64_t n_embd);
  /// Throws Error if a field that not all architectures have is invalid.
  void (*check)(const DecoderConfig& config);
  /// The memory, with matrix products in float32 or bfloat16.
  DecoderCost (*cost)(const DecoderConfig& config, DType products);
  /// The options that sizes() omits: "llama, 352 wide inside the MLP, tied".
  std::string (*describe)(const DecoderConfig& config);

  /// Parts of the names of modules: GPT-2's and its own. See own_name().
  std::vector<std::pair<std::string_view, std::string_view>> names = {};
  AttentionVariant attention = {};  ///< default of DecoderConfig::attention
};

/// A model of type M, for Architecture::make.
template <class M>
std::unique_ptr<Backbone> make_unique_backbone(const DecoderConfig& config, Generator& init) {
  return std::make_unique<M>(config, init);
}

/// All architectures.
const std::vector<const Architecture*>& architectures();
/// The architecture of that name. Throws Error if there is none.
const Architecture& architecture(std::string_view name);
/// The name of a module, a point or a parameter (or a pattern of them) that has a GPT-2's name or its own
/// name: h.0.attn.c_proj is model.layers.0.self_attn.o_proj of a Llama.
std::string own_name(const Architecture& architecture, std::string_view name);
/// The default architecture of a run.
std::string_view usual_arch();

/// Changes the architecture of a config; sizes that both architectures have stay.
void change_arch(DecoderConfig& config, std::string_view arch);
/// For Architecture::check: throws Error if the config has an AttentionVariant.
void check_usual_attention(const DecoderConfig& config);
/// The usual width inside a SwiGLU: 8/3 n_embd, rounded up to a multiple of 32 (vectors, tiles of q8_0).
int64_t swiglu_inner(int64_t n_embd);
/// A value of Architecture::describe, for decoders with a SwiGLU.
std::string describe_with_inner(const DecoderConfig& config);
/// "4 layers, 4 heads, 4 key/value heads, 128 wide, block 128".
std::string sizes(const DecoderConfig& config);

}  // namespace gradus::models

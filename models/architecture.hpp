// Architecture: an entry of the registry of architectures. All code outside models/ that depends on a
// decoder's architecture uses it. The entries are at the ends of gpt2.cpp, llama.cpp, gemma.cpp and
// mingru.cpp; architectures.cpp lists them. Immutable, so thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/models/decoder.hpp"

namespace gradus::models {

class ConfigReader;

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
  /// Number of tokens from which `--minutes` prefers it to the smaller presets of its architecture; none:
  /// never.
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

inline constexpr const char* kHead = "lm_head.weight";  ///< the output projection, in every architecture

/// A tensor of a file, which is a parameter or some rows of one.
struct StoredParameter {
  std::string name;            ///< in the file, without prefixes
  Shape shape;                 ///< in the file
  std::string parameter;       ///< of the decoder
  bool is_transposed = false;  ///< stored (in, out), while the parameter is (out, in)
  int64_t first_row = 0;       ///< of the parameter's rows
  bool is_vocab = false;       ///< whether the rows belong to tokens
};

/// The names and shapes of a decoder's parameters in a file.
struct StoredLayout {
  std::vector<StoredParameter> parameters;
  std::string head = kHead;  ///< the name of the output projection; a file may contain it although it is tied
};

/// The shapes of a file's tensors by these names.
using StoredShapes = std::map<std::string, Shape>;

struct Architecture {
  std::string_view name;            ///< for --arch
  std::string_view parts;           ///< for the help of --arch
  Positions positions;              ///< the position encoding
  bool has_bias = false;            ///< default of DecoderConfig::bias
  std::vector<Preset> presets;      ///< the smallest first
  AttentionVariant attention = {};  ///< default of DecoderConfig::attention
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

  /// The values of the field model_type in config.json.
  std::vector<std::string_view> model_types;
  /// llama.cpp's name for such a model.
  std::string_view (*model_type)(const DecoderConfig& config);
  /// The fields of config.json. Defaults of `config` that are 0 have their values.
  std::string (*write_config)(const DecoderConfig& config);
  /// The field model_type is one of model_types, or missing for the first architecture. The caller validates.
  DecoderConfig (*read_config)(ConfigReader& root);

  std::string_view embedding;  ///< the name of the token embedding
  /// Whether files store this matrix as (in, out). Null: none.
  bool (*is_transposed)(std::string_view parameter) = nullptr;
  std::string_view untied_prefix = {};  ///< of names in files, if the output projection is not tied
  bool stores_zero_biases = false;      ///< whether files have zeros for the biases that a model lacks
  /// The layout of another program's file; none if `given` has the usual one. Null: no such programs.
  std::optional<StoredLayout> (*foreign_layout)(const DecoderConfig& config,
                                                const StoredShapes& given) = nullptr;

  /// The text of a config.json for a file without one whose tensors determine the sizes; none for another
  /// file. Throws Error, naming `file`, if they do not. Null: no such programs.
  std::optional<std::string> (*config_of)(const StoredShapes& given, const std::string& file) = nullptr;

  /// Parts of the names of modules: GPT-2's and its own. See own_name().
  std::vector<std::pair<std::string_view, std::string_view>> names = {};
  /// The formats of `export` that can describe it.
  std::vector<std::string_view> exports = {};
  /// Hugging Face's name for such a model.
  std::string_view (*title)(const DecoderConfig& config);
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
/// The usual width inside a SwiGLU: 8/3 n_embd, rounded up to a multiple of 32 (for vectors and tiles of
/// q8_0).
int64_t swiglu_inner(int64_t n_embd);
/// A value of Architecture::describe, for decoders with a SwiGLU.
std::string describe_with_inner(const DecoderConfig& config);
/// "4 layers, 4 heads, 4 of keys, 128 wide, block 128".
std::string sizes(const DecoderConfig& config);

}  // namespace gradus::models

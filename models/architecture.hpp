// Architecture: a row of the registry, which tells the rest of the program all that depends on a decoder's
// architecture. The rows stand at the ends of gpt2.cpp, llama.cpp and the like; architectures.cpp lists them.
//
// Thread-safe: rows do not change.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/files/json.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/models/stored_layout.hpp"

namespace gradus::models {

/// How a decoder knows the order of tokens.
enum class Positions {
  learned,   ///< a table with a row for each position of a block
  rotary,    ///< angles between queries and keys, of any position
  recurrent  ///< a state of fixed size, without attention and without a limit of context
};

/// A shape with a name.
struct Preset {
  std::string_view name;
  std::string_view about;  ///< for the help
  DecoderConfig config;    ///< without a vocabulary
  /// Tokens from which on `--minutes` prefers it to the smaller presets of its architecture; none: never.
  std::optional<double> least_tokens = {};
};

/// Memory beside the parameters, in numbers of 4 bytes.
struct DecoderCost {
  double kept = 0;      ///< that a block keeps for its backward, for each token
  double passing = 0;   ///< of gradients on their way through one block, for each token
  double decoding = 0;  ///< at the widest point of a block while a prompt is read, for each token
  double position = 0;  ///< of the decoding state, for each position
  double state = 0;     ///< of the decoding state, whatever its length
};

struct Architecture {
  std::string_view name;        ///< for --arch
  std::string_view parts;       ///< for the help of --arch
  Positions positions;          ///< how it knows the order of tokens
  bool has_bias = false;        ///< default of DecoderConfig::bias
  std::vector<Preset> presets;  ///< the smallest first

  std::unique_ptr<Backbone> (*make)(const DecoderConfig& config, Generator& init);
  /// Features inside the MLP where the config does not say.
  int64_t (*inner)(int64_t n_embd);
  /// Throws Error if a field that not all architectures have is wrong.
  void (*check)(const DecoderConfig& config);
  /// With products in float32 or bfloat16.
  DecoderCost (*cost)(const DecoderConfig& config, DType products);
  /// What sizes() does not tell: "llama, 352 wide inside the MLP, tied".
  std::string (*describe)(const DecoderConfig& config);

  /// The values of the field model_type in config.json.
  std::vector<std::string_view> model_types;
  /// One of them; llama.cpp calls such a model so, too.
  std::string_view (*model_type)(const DecoderConfig& config);
  std::string (*write_config)(const DecoderConfig& config);
  /// `file` is for errors. The field model_type is right, or, for the first architecture, may be missing.
  DecoderConfig (*read_config)(const files::Field& root, const std::string& file);

  std::string_view embedding;  ///< the parameter that is the token embedding
  /// Whether files keep this matrix (in, out). Null: none.
  bool (*is_transposed)(std::string_view parameter) = nullptr;
  std::string_view untied_prefix = {};  ///< of names in files, if the output projection is not tied
  bool stores_zero_biases = false;      ///< whether files have zeros for biases that a model does not have
  /// The layout of another program's file; none if `given` is ordinary. Null: no such programs.
  std::optional<StoredLayout> (*foreign_layout)(const DecoderConfig& config,
                                                const StoredShapes& given) = nullptr;

  /// The formats of `export`, beside npz, that can describe it.
  std::vector<std::string_view> exports = {};
  /// What Hugging Face calls such a model.
  std::string_view (*title)(const DecoderConfig& config);
};

/// All rows.
const std::vector<const Architecture*>& architectures();
/// The row of that name. Throws Error if there is none.
const Architecture& architecture(std::string_view name);
/// The architecture of a run that names none.
std::string_view usual_arch();

/// Makes a config one of that architecture, which keeps the sizes that both have.
void change_arch(DecoderConfig& config, std::string_view arch);
/// The usual width inside a SwiGLU: 8/3 n_embd, rounded up to whole vectors and whole blocks of q8_0.
int64_t swiglu_inner(int64_t n_embd);
/// "4 layers, 4 heads, 4 of keys, 128 wide, block 128".
std::string sizes(const DecoderConfig& config);

}  // namespace gradus::models

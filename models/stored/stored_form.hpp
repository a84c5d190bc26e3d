// StoredForm: how files hold the decoders of an architecture. Its files in this folder have the names of
// those in models/; stored_forms.cpp lists the forms. Immutable, so thread-safe. Private to models and the
// formats of other programs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/shape.hpp"
#include "gradus/models/decoder_config.hpp"

namespace gradus::models {

class ConfigReader;

inline constexpr const char* kHead = "lm_head.weight";  ///< the output projection, in every architecture

/// The prefix that PEFT adds to the names of a model's tensors.
inline constexpr std::string_view kPeftPrefix = "base_model.model.";
/// The name of a tensor without the parts that PyTorch's wrappers (torch.compile, DistributedDataParallel,
/// FSDP and checkpointed activations) add anywhere in it, in any order, and without the prefixes of PEFT and
/// GPT2LMHeadModel.
std::string plain_name(std::string_view name);

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

struct StoredForm {
  std::string_view arch;  ///< the architecture

  /// The values of the field model_type in config.json.
  std::vector<std::string_view> model_types;
  /// llama.cpp's name for such a model.
  std::string_view (*model_type)(const DecoderConfig& config);
  /// The fields of config.json. Defaults of `config` that are 0 have their values.
  std::string (*write_config)(const DecoderConfig& config);
  /// The field model_type is one of model_types, or missing for the first form. The caller validates.
  DecoderConfig (*read_config)(ConfigReader& root);

  std::string_view embedding;  ///< the name of the token embedding
  /// Whether files store this matrix as (in, out). Null: none.
  bool (*is_transposed)(std::string_view parameter) = nullptr;
  std::string_view untied_prefix = {};  ///< of names in files, if the output projection is not tied
  bool stores_zero_biases = false;      ///< whether files have zeros for the biases that a model lacks
  /// Whether tensors have another program's layout (ForeignFormats::layout). Null: no such programs.
  bool (*is_foreign)(const DecoderConfig& config, const StoredShapes& given) = nullptr;

  /// The formats of `export` that can describe it.
  std::vector<std::string_view> exports = {};
  /// Hugging Face's name for such a model.
  std::string_view (*title)(const DecoderConfig& config);
};

/// All forms.
const std::vector<const StoredForm*>& stored_forms();
/// That of the architecture of this name, which must be there.
const StoredForm& stored_form(std::string_view arch);

}  // namespace gradus::models

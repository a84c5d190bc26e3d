// What the annex `formats` reads for the rooms above: files of other programs that hold models and
// tokenizers. A program without the annex has tables of null pointers; code that meets such a file then
// ends with one line that names the option, or with what on_missing_format() says. Thread-safe after start.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gradus {
class Shape;
namespace nn {
class TensorFile;
class TensorFolder;
}  // namespace nn
namespace data {
class Tokenizer;
}
namespace models {
class ConfigReader;
struct DecoderConfig;
struct StoredLayout;
}  // namespace models
}  // namespace gradus

namespace gradus::files {

// A table a room, so that a program which opens tensors carries no tokenizers.

struct ForeignTensors {
  /// Opens a checkpoint of PyTorch or a pickle, of which `begin` is the beginning. Throws as open_tensors().
  std::unique_ptr<nn::TensorFile> (*open_checkpoint)(const std::filesystem::path& path,
                                                     std::string_view begin) = nullptr;
};

struct ForeignTokenizers {
  /// The tokenizer of a tokenizer.json: see Tokenizer::from_tokenizer_json().
  data::Tokenizer (*tokenizer_json)(std::string_view json, const std::string& file) = nullptr;
  /// The tokenizer of nanoGPT's meta.pkl. Throws Error, naming `file`.
  data::Tokenizer (*tokenizer_pickle)(std::string_view bytes, const std::string& file) = nullptr;
};

struct ForeignModels {
  /// The config of a model of GPT-2's kind, in a config.json without model_type: nanoGPT's or the book's
  /// (models/stored/gpt2.cpp).
  models::DecoderConfig (*read_config)(models::ConfigReader& root) = nullptr;
  /// The text of a config.json for tensors without one, whose shapes by plain names are `given`; none if
  /// neither they nor their metadata determine it. Throws Error, naming the file, if they contradict.
  std::optional<std::string> (*config_of)(const nn::TensorFolder& tensors,
                                          const std::map<std::string, Shape>& given) = nullptr;
  /// The layout of nanoGPT's or the book's tensors, which `given` has.
  models::StoredLayout (*layout)(const models::DecoderConfig& config,
                                 const std::map<std::string, Shape>& given) = nullptr;
};

/// Those of this program: the annex defines them, and no_foreign_formats.cpp for programs without the annex.
const ForeignTensors& foreign_tensors();
const ForeignTokenizers& foreign_tokenizers();
const ForeignModels& foreign_models();

/// What a program without the annex does first when it meets a format of the table: gradus-first becomes the
/// whole program. Default: nothing.
void on_missing_format(void (*act)());
/// Throws Error: "[op] <what> needs a build with GRADUS_FORMATS=ON, ...".
[[noreturn]] void refuse_format(std::string_view op, const std::string& what);

/// The entry of the table that reads `what`, a file and its format. Throws Error if the program lacks it.
template <class Reader>
Reader needed(Reader reader, std::string_view op, const std::string& what) {
  if (!reader) refuse_format(op, what);
  return reader;
}

}  // namespace gradus::files

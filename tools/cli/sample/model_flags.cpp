#include "gradus/tools/cli/sample/model_flags.hpp"

#include "gradus/models/pretrained.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/train/memory.hpp"

namespace gradus::cli {
namespace {

using train::weights_names;

}  // namespace

void add_model_flags(CLI::App& verb, ModelFlags& flags) {
  add_value(verb, "folder", flags.folder, "DIR",
            "Run folder, or a folder with config.json, model.safetensors\nand a tokenizer")
      ->required();
  add_value(verb, "--tokenizer", flags.tokenizer, "FROM",
            "Folder of a tokenizer, or tokenizer.json, instead of the model's");
  add_value(verb, "--adapter", flags.adapter, "DIR",
            "Folder of a LoRA adapter of the model, in PEFT's files");
  choices(
      add_value(
          verb, "--weights", flags.weights, "NAME",
          "Format of the weights: float32, bfloat16, int8 or int4; fewer\nbits take less memory and time"),
      weights_names)
      ->capture_default_str();
}

models::DecoderConfig check_model(std::string_view verb, const ModelFlags& flags) {
  check_choice(verb, "--weights", flags.weights, weights_names());
  return models::check_pretrained(flags.folder);
}

void check_single(std::string_view verb, const models::DecoderConfig& config, const std::string& folder) {
  if (config.n_member > 1)
    fail(verb, folder, " must be one model, got an ensemble of ", config.n_member,
         ". Hint: take one of its members.");
}

train::TrainedModel load_model(const ModelFlags& flags, const models::DecoderConfig& config) {
  train::check_memory(models::generation_memory(config), "free some, or use a smaller model.");
  train::TrainedModel trained = train::load_trained(flags.folder, flags.tokenizer, flags.adapter);
  trained.model.to(train::weights_dtype(flags.weights));
  return trained;
}

}  // namespace gradus::cli

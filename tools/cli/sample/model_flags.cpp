#include "gradus/tools/cli/sample/model_flags.hpp"

#include "gradus/models/pretrained.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/train/memory.hpp"

namespace gradus::cli {
namespace {

const std::vector<std::pair<std::string, DType>> kWeights = {
    {"float32", DType::float32}, {"bfloat16", DType::bfloat16}, {"int8", DType::q8_0}, {"int4", DType::q4_0}};

std::vector<std::string> weights_names() {
  std::vector<std::string> names;
  for (const auto& [name, dtype] : kWeights) names.push_back(name);
  return names;
}

}  // namespace

void add_model_flags(CLI::App& verb, ModelFlags& flags) {
  add_value(verb, "folder", flags.folder, "DIR",
            "Run folder, or a folder with config.json, model.safetensors\nand a tokenizer, or a checkpoint "
            "(ckpt.pt)")
      ->required();
  add_value(verb, "--tokenizer", flags.tokenizer, "FROM",
            "Folder of a tokenizer, or tokenizer.json, instead of the model's");
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
  train::TrainedModel trained = train::load_trained(flags.folder, flags.tokenizer);
  for (const auto& [name, dtype] : kWeights)
    if (name == flags.weights && dtype != DType::float32) trained.model.to(dtype);
  return trained;
}

}  // namespace gradus::cli

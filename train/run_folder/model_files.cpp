#include "gradus/train/run_folder/model_files.hpp"

#include "gradus/nn/safetensors.hpp"

namespace gradus::train {
namespace {

constexpr const char* kParameters = "model.safetensors";

}  // namespace

ModelFiles model_files(const nn::Module& model, const Recipe& recipe) {
  const auto write = [&model](files::FolderUpdate& update) {
    nn::save_safetensors(update, kParameters, model.state_dict());
  };
  return {.model = write, .recipe = to_json(recipe)};
}

void check_parameters(const nn::Module& model, const files::FolderSnapshot& files) {
  std::map<std::string, Shape> saved;
  const nn::SafetensorsFile file(files.folder() / kParameters);
  for (const nn::SafetensorsEntry& entry : file.header().entries) saved[entry.name] = entry.shape;
  try {
    nn::compare_shapes(model.state_shapes(), saved);
  } catch (const Error& e) {
    fail("train", files.folder(), " must hold the state of this model, got that of another model: ", e.what(),
         " Use another folder.");
  }
}

void load_parameters(nn::Module& model, const files::FolderSnapshot& files) {
  model.load_state_dict(
      nn::load_safetensors(files.folder() / kParameters, /*keep_float64=*/true, files.checksum(kParameters)));
}

}  // namespace gradus::train

#include "gradus/train/model_files.hpp"

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
  using Shapes = std::map<std::string, Shape>;
  Shapes own, saved;
  for (const auto& [name, parameter] : model.named_parameters()) own[name] = parameter.shape();
  const nn::SafetensorsFile file(files.folder() / kParameters);
  for (const nn::SafetensorsEntry& entry : file.header().entries) saved[entry.name] = entry.shape;
  const auto all_in = [&](const Shapes& some, const Shapes& others, const char* preposition) {
    for (const auto& [name, shape] : some)
      if (const auto found = others.find(name); found == others.end() || found->second != shape)
        fail("train", files.folder(), " must hold the state of this model, got that of another model, ",
             preposition, " ", name, " ", shape, ". Hint: use another folder.");
  };
  all_in(saved, own, "with");
  all_in(own, saved, "without");
}

void load_parameters(nn::Module& model, const files::FolderSnapshot& files) {
  model.load_state_dict(
      nn::load_safetensors(files.folder() / kParameters, /*keep_float64=*/true, files.checksum(kParameters)));
}

}  // namespace gradus::train

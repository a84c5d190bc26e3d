// The functions of pretrained.hpp that write.
#include <nlohmann/json.hpp>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/models/stored/config_json.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/models/stored/stored_form.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::models {

nn::StateDict linear_weights(const Decoder& model) {
  const NoGrad no_grad;
  nn::StateDict weights;
  for (const auto& [name, parameter] : model.state_dict())
    weights.emplace(name, parameter.to(DType::float32).contiguous());
  DecoderConfig stored = model.config();
  stored.bias = stored.bias || stored_form(stored.arch).stores_zero_biases;
  if (stored != model.config())
    for (const auto& [name, shape] : stored.parameter_shapes())
      if (!weights.contains(name)) weights.emplace(name, zeros(shape));
  return weights;
}

nn::StateDict stored_state(const Decoder& model) {
  const NoGrad no_grad;
  const StoredForm& form = stored_form(model.config().arch);
  nn::StateDict stored;
  for (const auto& [name, values] : linear_weights(model)) {
    const bool is_prefixed = !model.config().tie_word_embeddings && name != kHead;
    const bool is_transposed = form.is_transposed && form.is_transposed(name);
    stored.emplace(concat(is_prefixed ? form.untied_prefix : "", name), is_transposed ? values.mT() : values);
  }
  return stored;
}

void save_pretrained(const Decoder& model, files::FolderUpdate& update) {
  if (model.config().n_member > 1)
    fail("save_pretrained", "needs one model, got an ensemble of ", model.config().n_member,
         ". Hint: save its members, and save_ensemble().");
  nn::save_safetensors(update, nn::kTensorFile, stored_state(model));
  update.write(kConfig, to_json(model.config()));
}

void save_pretrained(const Decoder& model, const std::filesystem::path& folder) {
  files::make_folders(folder);
  files::FolderUpdate update(folder);
  save_pretrained(model, update);
  update.commit_without_list();
}

void save_ensemble(const std::vector<std::string>& members, files::FolderUpdate& update) {
  const nlohmann::ordered_json json{
      {"model_type", kEnsemble}, {kMembers, members}, {"gradus_version", GRADUS_VERSION}};
  update.write(kConfig, json.dump(2) + "\n");
}

}  // namespace gradus::models

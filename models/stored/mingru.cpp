// The files of a decoder with minGRU.
#include <nlohmann/json.hpp>

#include "gradus/models/stored/config_fields.hpp"
#include "gradus/models/stored/stored_form.hpp"

namespace gradus::models {
namespace {

const ConfigFields<DecoderConfig> kMinGRUFields =
    size_fields("max_position_embeddings", "hidden_size", "num_hidden_layers", nullptr,
                {{"intermediate_size", &DecoderConfig::n_inner, true, 1},
                 {"rms_norm_eps", &DecoderConfig::norm_eps, true},
                 {"dropout", &DecoderConfig::dropout, true},
                 {"tie_word_embeddings", &DecoderConfig::tie_word_embeddings, true}});

std::string write_mingru_config(const DecoderConfig& config) {
  nlohmann::ordered_json json{{"model_type", "mingru"}, {"architectures", {"MinGRUForCausalLM"}}};
  write_fields(json, kMinGRUFields, config);
  return json.dump();
}

DecoderConfig read_mingru_config(ConfigReader& root) {
  DecoderConfig config{.arch = "mingru", .n_head = 1, .bias = false};
  root.read(kMinGRUFields, config);
  return config;
}

}  // namespace

const StoredForm& stored_mingru() {
  static const StoredForm form{
      .arch = "mingru",
      .model_types = {"mingru"},
      .model_type = [](const DecoderConfig&) -> std::string_view { return "mingru"; },
      .write_config = write_mingru_config,
      .read_config = read_mingru_config,
      .embedding = "model.embed_tokens.weight",
      .title = [](const DecoderConfig&) -> std::string_view { return "minGRU"; }};
  return form;
}

}  // namespace gradus::models

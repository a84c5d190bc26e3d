#include "gradus/models/config_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"

namespace gradus::models {

using files::Field;

std::string config_text(const std::string& text, const char* false_field) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::parse(text);
  // Without these nulls, transformers assumes GPT-2's or Llama's special tokens.
  fields["bos_token_id"] = nullptr;
  fields["eos_token_id"] = nullptr;
  fields["torch_dtype"] = "float32";
  fields["gradus_version"] = GRADUS_VERSION;
  if (false_field) fields[false_field] = false;
  return fields.dump(2) + "\n";
}

double number(const Field& config, const char* key, double otherwise) {
  const std::optional<Field> field = config.find(key);
  return field ? field->number() : otherwise;
}

bool flag(const Field& config, const char* key, bool otherwise) {
  const std::optional<Field> field = config.find(key);
  return field ? field->flag() : otherwise;
}

void read_sizes(const Field& config, const SizeKeys& keys, DecoderConfig& to) {
  to.vocab_size = config.at("vocab_size").integer();
  to.block_size = config.at(keys.block_size).integer();
  to.n_embd = config.at(keys.n_embd).integer();
  to.n_layer = config.at(keys.n_layer).integer();
  if (keys.n_head) to.n_head = config.at(keys.n_head).integer();
}

void expect(const Field& config, const char* key, std::initializer_list<std::string_view> accepted) {
  const std::optional<Field> field = config.find(key);
  if (!field || std::find(accepted.begin(), accepted.end(), field->shown()) != accepted.end()) return;
  field->refuse("must be ", joined(accepted, " or "), ", got ", field->shown(), ".");
}

void validate(const DecoderConfig& config, const std::string& file) {
  try {
    config.validate();
  } catch (const Error& e) {
    fail("load_config", file, ": ", e.what());
  }
}

std::string to_json(const DecoderConfig& config) { return architecture(config.arch).write_config(config); }

DecoderConfig config_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "load_config", file);
  const Field root = json.root();
  for (const char* key : {"quantization_config", "pruned_heads"}) {  // No architecture supports them.
    const std::optional<Field> field = root.find(key);
    if (!field || field->is_null() || (field->is_object() && field->size() == 0)) continue;
    field->refuse("must be null or {}, got ", field->shown(), ".");
  }
  const std::optional<Field> type = root.find("model_type");
  if (!type) return architectures().front()->read_config(root, file);
  std::vector<std::string> known;
  for (const Architecture* row : architectures())
    for (const std::string_view one : row->model_types) {
      known.push_back(concat("'", one, "'"));
      if (type->shown() == known.back()) return row->read_config(root, file);
    }
  type->refuse("must be ", joined(known, " or "), ", got ", type->shown(), ".");
}

}  // namespace gradus::models

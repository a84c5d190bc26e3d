#include "gradus/models/config_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"

namespace gradus::models {
namespace {

using files::Field;

/// Refuses what changes a model of any architecture into another. Other fields that are not known are
/// ignored: configs say much that has no part in the computation.
void expect_plain(const Field& root) {
  for (const char* key : {"quantization_config", "pruned_heads"}) {
    const std::optional<Field> field = root.find(key);
    if (!field || field->is_null() || (field->is_object() && field->size() == 0)) continue;
    field->refuse("must be null or {}, got ", field->shown(), ".");
  }
}

}  // namespace

std::string config_text(const std::string& text, const char* false_field) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::parse(text);
  // Without null tokens GPT-2's or Llama's own, which our vocabularies may not have, would be assumed.
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

void expect(const Field& config, const char* key, std::initializer_list<std::string_view> accepted) {
  const std::optional<Field> field = config.find(key);
  if (!field || std::find(accepted.begin(), accepted.end(), field->shown()) != accepted.end()) return;
  std::string known;
  for (const std::string_view one : accepted) known += concat(known.empty() ? "" : " or ", one);
  field->refuse("must be ", known, ", got ", field->shown(), ".");
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
  expect_plain(root);
  const std::optional<Field> type = root.find("model_type");
  if (!type) return architectures().front()->read_config(root, file);
  std::string known;
  for (const Architecture* row : architectures())
    for (const std::string_view one : row->model_types) {
      if (type->shown() == concat("'", one, "'")) return row->read_config(root, file);
      known += concat(known.empty() ? "'" : " or '", one, "'");
    }
  type->refuse("must be ", known, ", got ", type->shown(), ".");
}

}  // namespace gradus::models

#include "gradus/models/stored/rotary_fields.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "gradus/models/stored/stored_form.hpp"

namespace gradus::models {
namespace {

const ConfigFields<DecoderConfig> kRotaryFields =
    size_fields("max_position_embeddings", "hidden_size", "num_hidden_layers", "num_attention_heads",
                {{"intermediate_size", &DecoderConfig::n_inner, true, 1},
                 {"num_key_value_heads", &DecoderConfig::n_kv_head, false, 1},
                 {"rms_norm_eps", &DecoderConfig::norm_eps},
                 {"attention_dropout", &DecoderConfig::dropout},
                 {"tie_word_embeddings", &DecoderConfig::tie_word_embeddings}});
const ConfigFields<AttentionVariant> kAttention{{"head_dim", &AttentionVariant::head_dim, false, 1}};

/// YaRN's section 3.4: 0.1 m ln(factor) + 1.
double yarn_magnitude(double factor, double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; }

double yarn_attention_factor(ConfigReader& fields, double factor) {
  const auto m_field = fields.given("mscale"), all_field = fields.given("mscale_all_dim");
  const double m = m_field ? m_field->number() : 0, m_all = all_field ? all_field->number() : 0;
  if (m != 0 && m_all != 0) return yarn_magnitude(factor, m) / yarn_magnitude(factor, m_all);
  return yarn_magnitude(factor, 1);
}

ConfigFields<RopeScaling> fields_of(std::string_view type) {
  ConfigFields<RopeScaling> fields{{"factor", &RopeScaling::factor, true}};
  if (type == "linear") return fields;
  fields.push_back({"original_max_position_embeddings", &RopeScaling::original_length});
  if (type == "llama3")
    fields.insert(fields.end(), {{"low_freq_factor", &RopeScaling::low_freq_factor, true},
                                 {"high_freq_factor", &RopeScaling::high_freq_factor, true}});
  else
    fields.insert(fields.end(), {{"beta_fast", &RopeScaling::beta_fast},
                                 {"beta_slow", &RopeScaling::beta_slow},
                                 {"attention_factor", &RopeScaling::attention_factor},
                                 {"truncate", &RopeScaling::truncate}});
  return fields;
}

// Reads rope_theta and the scaling from rope_scaling or rope_parameters. Throws Error, naming the field, for
// another type. If rope_parameters has an object for each kind of layer, it reads that of `kind`.
void read_rope(ConfigReader& root, DecoderConfig& to, const char* kind) {
  const ConfigFields<DecoderConfig> theta{{"rope_theta", &DecoderConfig::rope_theta}};
  root.read(theta, to);
  // Newer files have one object, older ones rope_theta beside it.
  const auto newer = root.given("rope_parameters"), older = root.given("rope_scaling");
  if (!newer && !older) return;
  if (newer && older) older->refuse("must not stand beside rope_parameters, got ", older->shown(), ".");
  const files::Field object = newer ? *newer : *older;
  ConfigReader fields(kind && object.has(kind) ? object.at(kind) : object);
  const double beside = to.rope_theta;
  fields.read(theta, to);
  if (root.given("rope_theta") && to.rope_theta != beside)
    object.refuse("must have the rope_theta beside it, ", beside, ", got ", to.rope_theta, ".");
  const auto new_type = fields.find("rope_type"), old_type = fields.find("type");
  if (new_type && old_type && new_type->shown() != old_type->shown())
    old_type->refuse("must be the rope_type, ", new_type->shown(), ", got ", old_type->shown(), ".");
  const files::Field type = new_type ? *new_type : old_type ? *old_type : fields.at("type");
  fields.expect("partial_rotary_factor", {"1", "1.0", "null"});
  RopeScaling& s = to.attention.rope_scaling;
  if (type.text() != "default") {
    s.type = type.text();
    if (s.type != "linear" && s.type != "llama3" && s.type != "yarn")
      type.refuse("must be 'default', 'linear', 'llama3' or 'yarn', got ", type.shown(), ".");
    if (s.type != "linear") s.original_length = to.block_size;
    if (s.type == "yarn") s.attention_factor = 0;
    fields.read(fields_of(s.type), s);
    if (s.type == "yarn") {
      const double by_factor = yarn_attention_factor(fields, s.factor);
      if (s.attention_factor == 0) s.attention_factor = by_factor;
    }
  }
  if (kind) (void)fields.find("sliding_attention");  // which the caller reads
  fields.finish();
}

// The value of rope_scaling; null without scaling.
nlohmann::ordered_json rope_scaling_json(const RopeScaling& s) {
  if (s.type.empty()) return nullptr;
  nlohmann::ordered_json json{{"rope_type", s.type}};
  write_fields(json, fields_of(s.type), s);
  return json;
}

}  // namespace

std::string rotary_fields(const DecoderConfig& config, std::string_view type) {
  nlohmann::ordered_json json{
      {"model_type", type},
      {"architectures", {concat(stored_form(config.arch).title(config), "ForCausalLM")}}};
  write_fields(json, kRotaryFields, config);
  write_fields(json, kAttention, config.attention);
  json["rope_theta"] = config.rope_theta;
  json["rope_scaling"] = rope_scaling_json(config.attention.rope_scaling);
  json["initializer_range"] = 0.02;
  json["attention_bias"] = config.attention.qkv_bias;
  return json.dump();
}

void read_rotary(ConfigReader& root, bool needs_kv_heads, const char* kind, DecoderConfig& to) {
  to.norm_eps = 1e-6;
  root.read(kRotaryFields, to);
  root.read(kAttention, to.attention);
  read_rope(root, to, kind);
  if (needs_kv_heads) (void)root.at("num_key_value_heads");
}

}  // namespace gradus::models

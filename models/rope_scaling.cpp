#include "gradus/models/rotary_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"

namespace gradus::models {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// Below the frequency of low_freq_factor turns in the original context, divided by the factor; above that of
/// high_freq_factor turns, unchanged; linear between.
double llama3_frequency(const RopeScaling& s, double frequency) {
  const double turns = static_cast<double>(s.original_length) * frequency / kTurn;
  const double share =
      std::clamp((turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor), 0.0, 1.0);
  return (1 - share) * frequency / s.factor + share * frequency;
}

/// Features with more than beta_fast turns in the original context stay, with fewer than beta_slow are
/// divided by the factor, and between them the share is linear in the number of the feature.
double yarn_frequency(const RopeScaling& s, double base, int64_t hs, int64_t i, double frequency) {
  const auto width = static_cast<double>(hs);
  const auto feature_with = [&](double turns) {
    return width * std::log(static_cast<double>(s.original_length) / (turns * kTurn)) / (2 * std::log(base));
  };
  double low = feature_with(s.beta_fast), high = feature_with(s.beta_slow);
  if (s.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, width - 1);
  if (low == high) high += 0.001;
  const double share = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
  return share * frequency / s.factor + (1 - share) * frequency;
}

/// YaRN's section 3.4: 0.1 m ln(factor) + 1.
double yarn_magnitude(double factor, double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; }

double yarn_attention_factor(ConfigReader& fields, double factor) {
  const auto m_field = fields.given("mscale"), all_field = fields.given("mscale_all_dim");
  const double m = m_field ? m_field->number() : 0, m_all = all_field ? all_field->number() : 0;
  if (m != 0 && m_all != 0) return yarn_magnitude(factor, m) / yarn_magnitude(factor, m_all);
  return yarn_magnitude(factor, 1);
}

/// The fields of each type of scaling.
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

}  // namespace

Tensor scaled_frequencies(const DecoderConfig& config) {
  const RopeScaling& s = config.attention.rope_scaling;
  const int64_t hs = config.head_size();
  std::vector<double> frequencies = rotary_frequencies(hs, config.rope_theta).to_vector<double>();
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double& frequency = frequencies[i];
    if (s.type == "linear") frequency /= s.factor;
    if (s.type == "llama3") frequency = llama3_frequency(s, frequency);
    if (s.type == "yarn")
      frequency = yarn_frequency(s, config.rope_theta, hs, static_cast<int64_t>(i), frequency);
  }
  return tensor(frequencies, {hs / 2});
}

void read_rope(ConfigReader& root, DecoderConfig& to, const char* kind) {
  const ConfigFields<DecoderConfig> theta{{"rope_theta", &DecoderConfig::rope_theta}};
  root.read(theta, to);
  // Newer files have one object, older ones rope_theta beside it.
  const auto newer = root.given("rope_parameters"), older = root.given("rope_scaling");
  if (!newer && !older) return;
  const files::Field object = newer ? *newer : *older;
  ConfigReader fields(kind && object.has(kind) ? object.at(kind) : object);
  fields.read(theta, to);
  const auto new_type = fields.find("rope_type"), old_type = fields.find("type");
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

std::string rope_scaling_json(const RopeScaling& s) {
  if (s.type.empty()) return "null";
  nlohmann::ordered_json json{{"rope_type", s.type}};
  json.update(nlohmann::ordered_json::parse(write_fields(fields_of(s.type), s)));
  return json.dump();
}

void check_rope(const RopeScaling& s) {
  if (s.type.empty()) return;
  const bool has_length = s.type == "linear" || s.original_length >= 1;
  const bool ordered = s.type != "llama3" || s.high_freq_factor > s.low_freq_factor;
  const bool positive = s.type != "yarn" || (s.beta_fast > 0 && s.beta_slow > 0 && s.attention_factor > 0);
  if (!(s.factor >= 1 && std::isfinite(s.factor)) || !has_length || !ordered || !positive)
    fail("decoder",
         "rope_scaling must have a factor of at least 1, the original context length, and ordered limits, "
         "got ",
         rope_scaling_json(s), ".");
}

}  // namespace gradus::models

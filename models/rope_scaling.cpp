#include "gradus/models/rotary_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/config_json.hpp"

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

double yarn_attention_factor(const files::Field& fields, double factor) {
  if (const double given = number(fields, "attention_factor", 0); given != 0) return given;
  const double m = number(fields, "mscale", 0), m_all = number(fields, "mscale_all_dim", 0);
  if (m != 0 && m_all != 0) return yarn_magnitude(factor, m) / yarn_magnitude(factor, m_all);
  return yarn_magnitude(factor, 1);
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

void read_rope(const files::Field& root, DecoderConfig& to, const char* kind) {
  // Newer files have one object, older ones rope_theta beside it.
  std::optional<files::Field> fields = root.given("rope_parameters");
  if (!fields) fields = root.given("rope_scaling");
  to.rope_theta = number(root, "rope_theta", to.rope_theta);
  if (!fields) return;
  if (kind && fields->has(kind)) fields = fields->at(kind);
  to.rope_theta = number(*fields, "rope_theta", to.rope_theta);
  const files::Field type = fields->has("rope_type") ? fields->at("rope_type") : fields->at("type");
  if (type.text() == "default") return;
  RopeScaling& s = to.attention.rope_scaling;
  s.type = type.text();
  if (s.type != "linear" && s.type != "llama3" && s.type != "yarn")
    type.refuse("must be 'default', 'linear', 'llama3' or 'yarn', got ", type.shown(), ".");
  s.factor = fields->at("factor").number();
  if (s.type == "linear") return;
  const auto original = fields->given("original_max_position_embeddings");
  s.original_length = original ? original->integer() : to.block_size;
  if (s.type == "llama3") {
    s.low_freq_factor = fields->at("low_freq_factor").number();
    s.high_freq_factor = fields->at("high_freq_factor").number();
    return;
  }
  s.beta_fast = number(*fields, "beta_fast", 32.0);
  s.beta_slow = number(*fields, "beta_slow", 1.0);
  s.truncate = flag(*fields, "truncate", true);
  s.attention_factor = yarn_attention_factor(*fields, s.factor);
}

std::string rope_scaling_json(const RopeScaling& s) {
  if (s.type.empty()) return "null";
  nlohmann::ordered_json json = {{"rope_type", s.type}, {"factor", s.factor}};
  if (s.type == "linear") return json.dump();
  json["original_max_position_embeddings"] = s.original_length;
  if (s.type == "llama3") {
    json["low_freq_factor"] = s.low_freq_factor;
    json["high_freq_factor"] = s.high_freq_factor;
  } else {
    json["beta_fast"] = s.beta_fast;
    json["beta_slow"] = s.beta_slow;
    json["attention_factor"] = s.attention_factor;
    json["truncate"] = s.truncate;
  }
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

#include "gradus/models/rotary_decoder.hpp"

#include <algorithm>
#include <cmath>
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

void check_rope(const DecoderConfig& config) {
  const RopeScaling& s = config.attention.rope_scaling;
  if (s.type.empty()) return;
  const bool has_length = s.type == "linear" || s.original_length >= 1;
  const bool ordered = s.type != "llama3" || s.high_freq_factor > s.low_freq_factor;
  const bool positive = s.type != "yarn" || (s.beta_fast > 0 && s.beta_slow > 0 && s.attention_factor > 0 &&
                                             config.rope_theta > 1);
  if (!(s.factor >= 1 && std::isfinite(s.factor)) || !has_length || !ordered || !positive)
    fail("decoder",
         "rope_scaling must have a factor of at least 1, the original context length, limits that rise "
         "(llama3) or are above 0, and for yarn a rope_theta above 1, got ",
         s.type, " with factor ", s.factor, s.type == "linear" ? "" : concat(", length ", s.original_length),
         s.type == "llama3" ? concat(", limits ", s.low_freq_factor, " and ", s.high_freq_factor) : "",
         s.type == "yarn" ? concat(", limits ", s.beta_fast, " and ", s.beta_slow, ", attention factor ",
                                   s.attention_factor, ", rope_theta ", config.rope_theta)
                          : "",
         ".");
}

}  // namespace gradus::models

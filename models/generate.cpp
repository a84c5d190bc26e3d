#include "gradus/models/generate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gradus/models/next_token.hpp"

namespace gradus::models {
namespace {

std::vector<double> finite_logits(const Tensor& logits) {
  if (logits.dim() != 1 || logits.numel() < 1)
    fail("sample", "logits must be (V), got ", logits.shape(), ".");
  const std::vector<double> values = logits.to(DType::float64).to_vector<double>();
  const bool broken =
      std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x) || x == INFINITY; });
  if (broken || *std::max_element(values.begin(), values.end()) == -INFINITY)
    throw RunError(
        "[sample] logits must be finite, got NaN or infinity. Hint: the model's training has diverged.");
  return values;
}

/// What cannot be drawn, at -inf, stays so; nothing else becomes infinite, whatever the penalty.
void penalize(std::vector<double>& values, std::span<const int64_t> before, double penalty) {
  if (penalty == 1.0) return;
  constexpr double most = std::numeric_limits<double>::max();
  std::vector<bool> done(values.size());
  for (const int64_t token : before) {
    if (token < 0 || token >= static_cast<int64_t>(values.size()))
      fail("sample", "tokens must be in [0, ", values.size(), "), got ", token, ".");
    const auto i = static_cast<size_t>(token);
    if (done[i] || values[i] == -INFINITY) continue;
    done[i] = true;
    values[i] = std::clamp(values[i] < 0 ? values[i] * penalty : values[i] / penalty, -most, most);
  }
}

/// The tokens that top_k leaves, the likeliest first, the lower index first among equals; where neither top_k
/// nor top_p asks for that order, all as they come: sorting a large vocabulary costs as much as a small
/// model.
std::vector<size_t> candidates(const std::vector<double>& values, const SampleOptions& options) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (options.top_k == 0 && options.top_p == 1.0) return order;
  const size_t kept =
      options.top_k > 0 ? std::min(order.size(), static_cast<size_t>(options.top_k)) : order.size();
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(order.begin(), end, order.end(), [&](size_t a, size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  order.erase(end, order.end());
  return order;
}

}  // namespace

void SampleOptions::validate() const {
  if (max_new_tokens < 0) fail("sample", "max_new_tokens must be >= 0, got ", max_new_tokens, ".");
  if (!(temperature >= 0.0 && std::isfinite(temperature)))
    fail("sample", "temperature must be >= 0 and finite, got ", temperature, ".");
  if (top_k < 0) fail("sample", "top_k must be >= 0, got ", top_k, ". Hint: 0 keeps all tokens.");
  if (!(top_p > 0.0 && top_p <= 1.0)) fail("sample", "top_p must be in (0, 1], got ", top_p, ".");
  if (!(min_p >= 0.0 && min_p <= 1.0)) fail("sample", "min_p must be in [0, 1], got ", min_p, ".");
  if (!(repetition_penalty > 0.0 && std::isfinite(repetition_penalty)))
    fail("sample", "repetition_penalty must be > 0 and finite, got ", repetition_penalty,
         ". Hint: 1 leaves all as it is.");
  if (draft < 0 || draft > kMostDrafted)
    fail("sample", "draft must be in [0, ", kMostDrafted, "], got ", draft, ".");
}

std::vector<double> next_token_probabilities(const Tensor& logits, const SampleOptions& options,
                                             std::span<const int64_t> before) {
  options.validate();
  std::vector<double> values = finite_logits(logits);
  penalize(values, before, options.repetition_penalty);
  const auto likeliest = std::max_element(values.begin(), values.end());
  std::vector<double> p(values.size(), 0.0);
  if (options.temperature == 0.0) {
    p[static_cast<size_t>(likeliest - values.begin())] = 1.0;
    return p;
  }

  const std::vector<size_t> order = candidates(values, options);
  double mass = 0.0;
  for (const size_t i : order) {
    p[i] = std::exp((values[i] - *likeliest) / options.temperature);
    mass += p[i];
  }

  double kept_mass = 0.0;
  size_t nucleus = 0;
  // At 1 all are kept: the sum, which is rounded, may have reached the mass before the last.
  while (nucleus < order.size() && (options.top_p == 1.0 || kept_mass < options.top_p * mass))
    kept_mass += p[order[nucleus++]];
  for (size_t i = nucleus; i < order.size(); ++i) p[order[i]] = 0.0;
  if (options.min_p > 0.0) {
    kept_mass = 0.0;
    for (double& value : p) kept_mass += value < options.min_p ? value = 0.0 : value;  // The likeliest has 1.
  }
  for (double& value : p) value /= kept_mass;
  return p;
}

int64_t sample_token(const Tensor& logits, const SampleOptions& options, Generator& generator,
                     std::span<const int64_t> before) {
  const std::vector<double> p = next_token_probabilities(logits, options, before);
  const double u = options.temperature == 0.0 ? 0.0 : generator.uniform();
  double cumulated = 0.0;
  size_t last_possible = 0;  // where rounding leaves the sum just below 1
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0.0) continue;
    cumulated += p[i];
    last_possible = i;
    if (u < cumulated) break;
  }
  return static_cast<int64_t>(last_possible);
}

std::vector<int64_t> generate(const Decoder& model, const std::vector<int64_t>& prompt,
                              const SampleOptions& options, Generator& generator, const OnToken& on_token) {
  options.validate();
  if (prompt.empty()) fail("generate", "prompt must have at least one token, got none.");
  std::vector<int64_t> tokens = prompt;
  NextToken next(model, options.draft);
  for (int64_t i = 0; i < options.max_new_tokens; ++i) {
    tokens.push_back(sample_token(next.logits(tokens), options, generator, tokens));
    if (on_token && !on_token(tokens.back())) break;
  }
  return {tokens.begin() + static_cast<int64_t>(prompt.size()), tokens.end()};
}

}  // namespace gradus::models

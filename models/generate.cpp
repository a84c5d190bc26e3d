#include "gradus/models/generate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::models {
namespace {

std::vector<double> finite_logits(const Tensor& logits) {
  if (logits.dim() != 1 || logits.numel() < 1)
    fail("sample", "logits must be (V), got ", logits.shape(), ".");
  const Tensor packed = logits.contiguous();
  std::vector<double> values = dispatch_float("sample", packed.dtype(), [&]<class T>() {
    return std::vector<double>(packed.data<T>(), packed.data<T>() + packed.numel());
  });
  bool is_broken = false, has_token = false;
  for (const double x : values) {
    is_broken |= !(x < INFINITY);
    has_token |= x > -INFINITY;
  }
  if (is_broken || !has_token)
    throw RunError(
        "[sample] logits must be finite, got NaN or infinity. Hint: the model's training has diverged.");
  return values;
}

/// Tokens at -inf stay impossible; no other logit becomes infinite with any penalty.
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

/// The logits as sampling uses them.
std::vector<double> penalized(const Tensor& logits, const SampleOptions& options,
                              std::span<const int64_t> before) {
  options.validate();
  std::vector<double> values = finite_logits(logits);
  penalize(values, before, options.repetition_penalty);
  return values;
}

/// The indices of the `count` largest values, the largest first, the lower index first among equals.
std::vector<size_t> largest(const std::vector<double>& values, size_t count) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), count));
  std::partial_sort(order.begin(), end, order.end(), [&](size_t a, size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  order.erase(end, order.end());
  return order;
}

/// The tokens that top_k keeps, sorted for top_p. Without both they are not sorted: sorting a large
/// vocabulary takes as long as a forward pass of a small model.
std::vector<size_t> candidates(const std::vector<double>& values, const SampleOptions& options) {
  if (options.top_k > 0 || options.top_p < 1.0)
    return largest(values, options.top_k > 0 ? static_cast<size_t>(options.top_k) : values.size());
  std::vector<size_t> all(values.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

}  // namespace

void SampleOptions::validate() const {
  if (max_new_tokens < 0)
    fail("sample", Option{"max_new_tokens"}, " must be >= 0, got ", max_new_tokens, ".");
  if (!(temperature >= 0.0 && std::isfinite(temperature)))
    fail("sample", Option{"temperature"}, " must be >= 0 and finite, got ", temperature, ".");
  if (top_k < 0) fail("sample", Option{"top_k"}, " must be >= 0, got ", top_k, ". Hint: 0 keeps all tokens.");
  if (!(top_p > 0.0 && top_p <= 1.0)) fail("sample", Option{"top_p"}, " must be in (0, 1], got ", top_p, ".");
  if (!(min_p >= 0.0 && min_p <= 1.0))
    fail("sample", Option{"min_p"}, " must be in [0, 1], got ", min_p, ".");
  if (!(repetition_penalty > 0.0 && std::isfinite(repetition_penalty)))
    fail("sample", Option{"repetition_penalty"}, " must be > 0 and finite, got ", repetition_penalty,
         ". Hint: 1 changes no logit.");
  if (draft < 0 || draft > kMostDrafted)
    fail("sample", Option{"draft"}, " must be in [0, ", kMostDrafted, "], got ", draft, ".");
}

std::vector<double> next_token_probabilities(const Tensor& logits, const SampleOptions& options,
                                             std::span<const int64_t> before) {
  const std::vector<double> values = penalized(logits, options, before);
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
  // With top_p = 1 all are kept, although the rounded sum may reach the mass before the last of them.
  while (nucleus < order.size() && (options.top_p == 1.0 || kept_mass < options.top_p * mass))
    kept_mass += p[order[nucleus++]];
  for (size_t i = nucleus; i < order.size(); ++i) p[order[i]] = 0.0;
  if (options.min_p > 0.0) {
    kept_mass = 0.0;
    for (double& value : p) kept_mass += value < options.min_p ? value = 0.0 : value;  // the largest is 1
  }
  for (double& value : p) value /= kept_mass;
  return p;
}

int64_t sample_token(const Tensor& logits, const SampleOptions& options, Generator& generator,
                     std::span<const int64_t> before) {
  if (options.temperature == 0.0) {
    const std::vector<double> values = penalized(logits, options, before);
    return std::max_element(values.begin(), values.end()) - values.begin();
  }
  const std::vector<double> p = next_token_probabilities(logits, options, before);
  const double u = generator.uniform();
  double cumulated = 0.0;
  size_t last_possible = 0;  // taken if the rounded sum stays below 1
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

// -- NextToken

NextToken::NextToken(const Decoder& model, int64_t draft)
    : model_(&model), draft_(model.can_draft() ? draft : 0), state_(model.make_state()) {
  if (draft < 0 || draft > kMostDrafted)
    fail("next_token", "draft must be in [0, ", kMostDrafted, "], got ", draft, ".");
}

Tensor NextToken::logits(std::span<const int64_t> tokens) {
  if (tokens.size() <= asked_)
    fail("next_token", "tokens must be more than the ", asked_, " before, got ", tokens.size(), ".");
  const auto limit = static_cast<size_t>(model_->config().context_limit());
  const bool slides = tokens.size() > limit;
  const std::span<const int64_t> seen = slides ? tokens.last(limit) : tokens;
  const auto common =
      slides ? 0
             : static_cast<size_t>(std::mismatch(fed_.begin(), fed_.end(), seen.begin(), seen.end()).first -
                                   fed_.begin());
  if (common < seen.size()) {
    fed_.resize(common);
    state_->truncate(static_cast<int64_t>(common));
    std::vector<int64_t> fresh(seen.begin() + static_cast<std::ptrdiff_t>(common), seen.end());
    // A prompt is read without a draft: the bits depend on the number of tokens that are read together.
    if (fresh.size() == 1) {
      const auto most = std::min(draft_, static_cast<int64_t>(limit - seen.size()));
      const std::vector<int64_t> guesses = drafted(seen, most);
      fresh.insert(fresh.end(), guesses.begin(), guesses.end());
    }
    const Tensor idx = tensor(fresh, {1, static_cast<int64_t>(fresh.size())});
    const bool drafts = seen.size() < common + fresh.size();
    rows_ = drafts ? model_->decode_all(idx, *state_).select(0, 0) : model_->decode(idx, *state_);
    fed_.insert(fed_.end(), fresh.begin(), fresh.end());
  }
  asked_ = tokens.size();
  return rows_.select(0, rows_.size(0) - 1 - static_cast<int64_t>(fed_.size() - seen.size()));
}

std::vector<int64_t> drafted(std::span<const int64_t> tokens, int64_t most) {
  constexpr size_t kLongest = 16, kShortest = 2;
  size_t best = kShortest - 1, from = 0;
  for (size_t end = tokens.size(); end-- > kShortest;) {  // candidate: tokens[0, end) ends like the text
    size_t same = 0;
    while (same < std::min(end, kLongest) && tokens[end - 1 - same] == tokens[tokens.size() - 1 - same])
      ++same;
    if (same > best) {
      best = same;
      from = end;
    }
    if (best == kLongest) break;
  }
  std::vector<int64_t> guesses;
  for (size_t i = 0; from > 0 && i < static_cast<size_t>(std::max<int64_t>(0, most)); ++i) {
    const size_t at = from + i;  // The draft may repeat itself beyond the end of the text.
    guesses.push_back(at < tokens.size() ? tokens[at] : guesses[at - tokens.size()]);
  }
  return guesses;
}

RankedToken ranked(const std::vector<double>& probabilities, int64_t token) {
  if (token < 0 || token >= static_cast<int64_t>(probabilities.size()))
    fail("next_token", "tokens must be in [0, ", probabilities.size(), "), got ", token, ".");
  const auto at = probabilities.begin() + token;
  const auto before = std::count_if(probabilities.begin(), at, [&](double p) { return p >= *at; }) +
                      std::count_if(at, probabilities.end(), [&](double p) { return p > *at; });
  return {token, *at, before + 1};
}

std::vector<RankedToken> likeliest(const std::vector<double>& probabilities, int64_t count) {
  if (count < 0) fail("next_token", "count must be >= 0, got ", count, ".");
  std::vector<RankedToken> result;
  for (const size_t i : largest(probabilities, static_cast<size_t>(count)))
    result.push_back({static_cast<int64_t>(i), probabilities[i], std::ssize(result) + 1});
  return result;
}

}  // namespace gradus::models

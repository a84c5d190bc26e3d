#include "gradus/models/next_token.hpp"

#include <algorithm>
#include <numeric>

#include "gradus/autograd/ops.hpp"

namespace gradus::models {

Tensor NextToken::logits(std::span<const int64_t> tokens) {
  if (tokens.size() <= seen_)
    fail("next_token", "tokens must be more than the ", seen_, " before, got ", tokens.size(), ".");
  const auto block = static_cast<size_t>(model_->config().block_size);
  if (tokens.size() > block) {
    seen_ = tokens.size() - block;
    cache_.clear();
  }
  const std::vector<int64_t> fresh(tokens.begin() + static_cast<std::ptrdiff_t>(seen_), tokens.end());
  const Tensor logits = model_->step(tensor(fresh, {1, static_cast<int64_t>(fresh.size())}), cache_);
  seen_ = tokens.size();
  return logits.select(0, 0);
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
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t kept = std::min(order.size(), static_cast<size_t>(count));
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(), [&](size_t a, size_t b) {
        return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
      });
  std::vector<RankedToken> result;
  for (size_t i = 0; i < kept; ++i)
    result.push_back({static_cast<int64_t>(order[i]), probabilities[order[i]], static_cast<int64_t>(i) + 1});
  return result;
}

}  // namespace gradus::models

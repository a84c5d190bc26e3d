#include "gradus/models/next_token.hpp"

#include <algorithm>
#include <numeric>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::models {
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
    // A prompt is read as it would be without a draft, whose bits depend on how much is read together.
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
  for (size_t end = tokens.size(); end-- > kShortest;) {  // tokens[0, end) may end as the text does
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
    const size_t at = from + i;  // Behind the text's end it goes on as it has begun.
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

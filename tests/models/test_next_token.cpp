#include "gradus/models/generate.hpp"

#include "autograd/compare.hpp"
#include "models/llama.hpp"

namespace gradus::models::test_next_token {

using namespace testing;

Decoder a_model() {
  return wide_model(
      {.vocab_size = 11, .block_size = 6, .n_layer = 2, .n_head = 2, .n_embd = 8, .dropout = 0.3}, 4);
}

TEST_CASE("logits as a text grows are those of a full forward on its last block") {
  Decoder model = a_model();
  NextToken next(model);
  std::vector<int64_t> tokens;
  for (const int64_t more : {1, 1, 3, 1, 1, 1, 2, 1, 9}) {
    for (int64_t i = 0; i < more; ++i) tokens.push_back(static_cast<int64_t>(tokens.size() * 7 % 11));
    model.train();
    const Tensor found = next.logits(tokens);
    CHECK_FALSE(found.requires_grad());
    model.eval();
    const int64_t T = std::min<int64_t>(6, static_cast<int64_t>(tokens.size()));
    const Tensor idx = tensor(std::vector<int64_t>(tokens.end() - T, tokens.end()), {1, T});
    CHECK(difference(found, model(idx).detach().select(0, 0).select(0, T - 1), 1e-5) == "");
  }
}

TEST_CASE("a text that did not grow is refused") {
  const Decoder model = a_model();
  NextToken next(model);
  CHECK_THROWS_WITH(next.logits({}), "[next_token] tokens must be more than the 0 before, got 0.");
  const std::vector<int64_t> tokens = {1, 2, 3}, outside = {1, 2, 3, 11};
  (void)next.logits(tokens);
  CHECK_THROWS_WITH(next.logits(tokens), "[next_token] tokens must be more than the 3 before, got 3.");
  CHECK_THROWS_AS(next.logits(outside), Error);
}

TEST_CASE("a token's rank counts the likelier ones, among equals those before it") {
  const std::vector<double> p = {0.1, 0.3, 0.1, 0.4, 0.1};
  const std::vector<int64_t> ranks = {3, 2, 4, 1, 5};
  for (size_t i = 0; i < p.size(); ++i) {
    const auto token = static_cast<int64_t>(i);
    CHECK(ranked(p, token) == RankedToken{token, p[i], ranks[i]});
  }
  CHECK_THROWS_WITH(ranked(p, 5), "[next_token] tokens must be in [0, 5), got 5.");
  CHECK_THROWS_WITH(ranked(p, -1), "[next_token] tokens must be in [0, 5), got -1.");
}

TEST_CASE("the likeliest come in the order of their ranks") {
  const std::vector<double> p = {0.1, 0.3, 0.1, 0.4, 0.1};
  CHECK(likeliest(p, 3) == std::vector<RankedToken>{{3, 0.4, 1}, {1, 0.3, 2}, {0, 0.1, 3}});
  CHECK(likeliest(p, 0).empty());
  const std::vector<RankedToken> all = likeliest(p, 99);
  REQUIRE(all.size() == 5);
  for (const RankedToken& token : all) CHECK(token == ranked(p, token.token));
  CHECK_THROWS_WITH(likeliest(p, -1), "[next_token] count must be >= 0, got -1.");
}

}  // namespace gradus::models::test_next_token

#include "gradus/models/generate.hpp"

#include "autograd/compare.hpp"
#include "models/llama.hpp"

namespace gradus::models::test_generate {

using namespace testing;

constexpr float kInf = std::numeric_limits<float>::infinity();

Decoder make_model(double dropout = 0.0) {
  DecoderConfig config = kSmallGpt2;
  config.vocab_size = 17;
  config.dropout = dropout;
  return wide_model(config, 21);
}

Tensor logits_of(const std::vector<float>& values) {
  return tensor(values, {static_cast<int64_t>(values.size())});
}

/// Logits whose softmax is `p`.
Tensor logits_for(std::vector<double> p) {
  for (double& value : p) value = std::log(value);
  return tensor(p, {static_cast<int64_t>(p.size())});
}

std::vector<double> probabilities(const std::vector<double>& p, const SampleOptions& options) {
  return next_token_probabilities(logits_for(p), options);
}

void check_close(const std::vector<double>& actual, const std::vector<double>& expected) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(actual[i] - expected[i]) < 1e-12);
}

/// Generation by its definition: a full forward on the last block_size tokens for each token.
std::vector<int64_t> generate_naively(const Decoder& model, std::vector<int64_t> tokens,
                                      const SampleOptions& options, Generator& g) {
  const size_t prompt = tokens.size();
  for (int64_t i = 0; i < options.max_new_tokens; ++i) {
    const auto length = static_cast<int64_t>(tokens.size());
    const int64_t T = std::min(length, model.config().block_size);
    const Tensor idx = tensor(std::vector<int64_t>(tokens.end() - T, tokens.end()), {1, T});
    tokens.push_back(sample_token(model(idx).detach().select(0, 0).select(0, T - 1), options, g, tokens));
  }
  return {tokens.begin() + static_cast<int64_t>(prompt), tokens.end()};
}

TEST_CASE("bfloat16 weights give the tokens that their values give in float32, cached or not",
          "[needs.fast]") {
  Decoder rounded = make_model(), stored = make_model();
  for (auto& [name, p] : rounded.named_parameters())
    if (p.dim() == 2) p.copy_(p.detach().to(DType::bfloat16).to(DType::float32));
  stored.to(DType::bfloat16);
  CHECK(stored.state_dict().at("wte.weight").dtype() == DType::bfloat16);
  CHECK(stored.state_dict().at("ln_f.weight").dtype() == DType::float32);
  const SampleOptions options{.max_new_tokens = 30, .temperature = 0.0};
  Generator g(1);
  const std::vector<int64_t> tokens = generate(stored, {3, 1, 4}, options, g);
  CHECK(tokens == generate(rounded, {3, 1, 4}, options, g));
  CHECK(tokens == generate_naively(stored, {3, 1, 4}, options, g));
}

TEST_CASE("the cache changes no token, within the block and beyond it") {
  Decoder model = make_model(0.2);
  const SampleOptions options =
      GENERATE(SampleOptions{.max_new_tokens = 30, .temperature = 0.0}, SampleOptions{.max_new_tokens = 30},
               SampleOptions{.max_new_tokens = 30, .temperature = 0.8, .top_k = 5, .top_p = 0.9});
  for (const size_t length : {1, 5, 8, 12}) {
    std::vector<int64_t> prompt;
    for (size_t i = 0; i < length; ++i) prompt.push_back(static_cast<int64_t>(i * 7 % 17));
    Generator a(3), b(3);
    model.train();
    const std::vector<int64_t> cached = generate(model, prompt, options, a);
    model.eval();
    CHECK(cached == generate_naively(model, prompt, options, b));
    CHECK(cached.size() == 30);
    CHECK(a == b);
  }
}

TEST_CASE("greedy takes the likeliest, the lower index among equals, and draws nothing") {
  Generator g(1);
  const Generator before = g;
  const SampleOptions greedy{.temperature = 0.0};
  CHECK(sample_token(logits_of({0, 3, -1, 3}), greedy, g) == 1);
  check_close(next_token_probabilities(logits_of({0, 3, -1, 3}), greedy), {0, 1, 0, 0});
  CHECK(g == before);
}

TEST_CASE("temperature divides the logits") {
  check_close(probabilities({0.5, 0.3, 0.2}, {}), {0.5, 0.3, 0.2});
  const double total = 0.25 + 0.09 + 0.04;
  check_close(probabilities({0.5, 0.3, 0.2}, {.temperature = 0.5}),
              {0.25 / total, 0.09 / total, 0.04 / total});
  check_close(probabilities({0.5, 0.3, 0.2}, {.temperature = 1e-300}), {1, 0, 0});
}

TEST_CASE("top-k keeps exactly k, the lower index among equals") {
  check_close(probabilities({0.1, 0.4, 0.2, 0.3}, {.top_k = 2}), {0, 4.0 / 7, 0, 3.0 / 7});
  check_close(probabilities({0.25, 0.25, 0.25, 0.25}, {.top_k = 2}), {0.5, 0.5, 0, 0});
  check_close(probabilities({0.2, 0.4, 0.2, 0.2}, {.top_k = 2}), {1.0 / 3, 2.0 / 3, 0, 0});
  check_close(probabilities({0.6, 0.4}, {.top_k = 9}), {0.6, 0.4});
}

TEST_CASE("top-p keeps the fewest that reach it") {
  const std::vector<double> p = {0.1, 0.4, 0.2, 0.3};
  check_close(probabilities(p, {.top_p = 0.39}), {0, 1, 0, 0});
  check_close(probabilities(p, {.top_p = 0.41}), {0, 4.0 / 7, 0, 3.0 / 7});
  check_close(probabilities(p, {.top_p = 0.69}), {0, 4.0 / 7, 0, 3.0 / 7});
  check_close(probabilities(p, {.top_p = 0.71}), {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  check_close(probabilities(p, {.top_p = 1.0}), p);
  check_close(probabilities(p, {.top_p = 1e-9}), {0, 1, 0, 0});
  // A set whose mass is exactly top_p is enough; these sums are exact.
  check_close(next_token_probabilities(logits_of({0, 0, 0, 0}), {.top_p = 0.5}), {0.5, 0.5, 0, 0});
  // Mass is counted among what top-k left: 4/7 of 0.7 reaches 0.5, 0.4 of 1 would not.
  check_close(probabilities(p, {.top_k = 2, .top_p = 0.5}), {0, 1, 0, 0});
}

TEST_CASE("top-p 1 keeps every token, however unlikely") {
  const Tensor logits = logits_of({0, -50, -700, -50});
  const std::vector<double> rare = {1, std::exp(-50), std::exp(-700), std::exp(-50)};
  CHECK(next_token_probabilities(logits, {}) == rare);
  CHECK(next_token_probabilities(logits, {.top_k = 3}) == std::vector<double>{1, rare[1], 0, rare[3]});
  CHECK(next_token_probabilities(logits, {.min_p = 1e-300}) == std::vector<double>{1, rare[1], 0, rare[3]});
  CHECK(next_token_probabilities(logits, {.repetition_penalty = 2.0}, std::vector<int64_t>{1})[1] ==
        std::exp(-100));
}

TEST_CASE("min-p keeps what is near enough to the likeliest") {
  const std::vector<double> p = {0.1, 0.4, 0.2, 0.3};
  check_close(probabilities(p, {.min_p = 0.3}), {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  check_close(probabilities(p, {.min_p = 0.76}), {0, 1, 0, 0});
  check_close(probabilities(p, {.min_p = 0.24}), p);
  check_close(next_token_probabilities(logits_of({0, 0, -1}), {.min_p = 1.0}), {0.5, 0.5, 0});
  // After the temperature: at 2 the ratios are roots, sqrt(0.1 / 0.4) = 0.5.
  const double total = std::sqrt(0.4) + std::sqrt(0.2) + std::sqrt(0.3);
  check_close(probabilities(p, {.temperature = 2.0, .min_p = 0.51}),
              {0, std::sqrt(0.4) / total, std::sqrt(0.2) / total, std::sqrt(0.3) / total});
  // After top-p, whose mass is counted with what min-p would drop: 0.4 + 0.3 are short of 0.75, so 0.2 is in.
  check_close(probabilities(p, {.top_p = 0.75, .min_p = 0.5}), {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  check_close(probabilities(p, {.top_k = 2, .min_p = 0.5}), {0, 4.0 / 7, 0, 3.0 / 7});
}

TEST_CASE("a penalty divides the logits above 0 and multiplies those below, once a token") {
  const std::vector<float> logits = {2, -1, 0, 3, -kInf};
  const SampleOptions options{.temperature = 0.7, .repetition_penalty = 1.3};
  const std::vector<int64_t> before = {3, 1, 3, 2, 3, 4};
  std::vector<double> expected = {2, -1 * 1.3, 0, 3 / 1.3, -INFINITY};
  double sum = 0;
  for (double& x : expected) sum += x = std::exp(x / 0.7);
  for (double& x : expected) x /= sum;
  check_close(next_token_probabilities(logits_of(logits), options, before), expected);
  CHECK(next_token_probabilities(logits_of(logits), {.temperature = 0.7}, before) ==
        next_token_probabilities(logits_of(logits), {.temperature = 0.7}));

  Generator g(1);
  const std::vector<int64_t> likeliest = {3};
  CHECK(sample_token(logits_of(logits), {.temperature = 0, .repetition_penalty = 1.6}, g, likeliest) == 0);
  CHECK(sample_token(logits_of(logits), {.temperature = 0, .repetition_penalty = 0.5}, g,
                     std::vector<int64_t>{0}) == 0);
  for (const double extreme : {1e-320, 1e308})
    for (const double p : next_token_probabilities(logits_of({5, -5, 0}), {.repetition_penalty = extreme},
                                                   std::vector<int64_t>{0, 1}))
      CHECK((p >= 0 && p <= 1));
  for (const int64_t outside : {-1, 5})
    CHECK_THROWS_WITH(next_token_probabilities(logits_of(logits), options, std::vector<int64_t>{outside}),
                      "[sample] tokens must be in [0, 5), got " + std::to_string(outside) + ".");
}

TEST_CASE("the penalty of repetitions sees the prompt and all that was drawn, beyond the block too") {
  const Decoder model = make_model();
  const SampleOptions options{.max_new_tokens = 16, .temperature = 0, .repetition_penalty = 1e6};
  Generator g(1);
  const std::vector<int64_t> drawn = generate(model, {3, 1}, options, g);
  CHECK(drawn == generate_naively(model, {3, 1}, options, g));
  CHECK(drawn != generate(model, {3, 1}, {.max_new_tokens = 16, .temperature = 0}, g));
}

TEST_CASE("logits of -inf are never drawn, those that are broken are refused") {
  check_close(next_token_probabilities(logits_of({-kInf, 0, -kInf}), {}), {0, 1, 0});
  for (const auto& broken : {std::vector<float>{0, NAN}, {0, kInf}, {-kInf, -kInf}})
    CHECK_THROWS_AS(next_token_probabilities(logits_of(broken), {}), RunError);
}

TEST_CASE("tokens are drawn as often as their probabilities say, one uniform number each") {
  Generator g(7), counted(7);
  const std::vector<double> p = {0.5, 0, 0.3, 0.2};
  std::vector<int> count(4);
  const int n = 20'000;
  const Tensor logits = logits_for(p);
  for (int i = 0; i < n; ++i) ++count[static_cast<size_t>(sample_token(logits, {}, g))];
  for (int i = 0; i < n; ++i) counted.uniform();
  CHECK(g == counted);
  double chi2 = 0;
  for (const size_t i : {0, 2, 3}) chi2 += std::pow(count[i] - n * p[i], 2) / (n * p[i]);
  CHECK(count[1] == 0);
  CHECK(chi2 < 13.8);  // 2 degrees of freedom, one run in a thousand
}

TEST_CASE("tokens come to the callback one by one, which can stop") {
  const Decoder model = make_model();
  Generator a(1), b(1);
  std::vector<int64_t> seen;
  const SampleOptions options{.max_new_tokens = 10};
  const std::vector<int64_t> all = generate(model, {1, 2}, options, a, [&](int64_t token) {
    seen.push_back(token);
    return true;
  });
  CHECK(all == seen);
  CHECK(all.size() == 10);
  const std::vector<int64_t> some =
      generate(model, {1, 2}, options, b, [&, n = 0](int64_t) mutable { return ++n < 4; });
  CHECK(some == std::vector<int64_t>(all.begin(), all.begin() + 4));
  CHECK(generate(model, {1, 2}, {.max_new_tokens = 0}, a).empty());
}

TEST_CASE("senseless requests are refused") {
  const Decoder model = make_model();
  Generator g(1);
  const auto refusal = [&](const SampleOptions& options) {
    return error_of([&] { generate(model, {1}, options, g); });
  };
  CHECK(refusal({.max_new_tokens = -1}) == "[sample] `max_new_tokens` must be >= 0, got -1.");
  CHECK(refusal({.temperature = -0.5}) == "[sample] `temperature` must be >= 0 and finite, got -0.5.");
  CHECK(refusal({.temperature = std::nan("")}) == "[sample] `temperature` must be >= 0 and finite, got nan.");
  CHECK(refusal({.temperature = INFINITY}) == "[sample] `temperature` must be >= 0 and finite, got inf.");
  CHECK(refusal({.top_k = -1}) == "[sample] `top_k` must be >= 0, got -1. Hint: 0 keeps all tokens.");
  for (const double p : {0.0, -1.0, 1.5, std::nan("")})
    CHECK(refusal({.top_p = p}).starts_with("[sample] `top_p` must be in (0, 1]"));
  for (const double p : {-0.1, 1.5, std::nan("")})
    CHECK(refusal({.min_p = p}).starts_with("[sample] `min_p` must be in [0, 1]"));
  for (const double penalty : {0.0, -1.0, HUGE_VAL, std::nan("")})
    CHECK(refusal({.repetition_penalty = penalty})
              .starts_with("[sample] `repetition_penalty` must be > 0 and "));
  CHECK_THROWS_WITH(generate(model, {}, {}, g), "[generate] prompt must have at least one token, got none.");
  CHECK_THROWS_AS(generate(model, {17}, {}, g), Error);
  CHECK_THROWS_AS(generate(model, {-1}, {}, g), Error);
}

}  // namespace gradus::models::test_generate

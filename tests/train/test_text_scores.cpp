// Scores of texts: the check of sums, mixtures and dynamic evaluation, against formulas in float64.
#include <numeric>

#include "autograd/compare.hpp"
#include "gradus/nn/module.hpp"
#include "gradus/train/text_scores.hpp"

namespace gradus::train::test_text_scores {

using testing::difference;

models::Decoder small_decoder(const char* arch, int64_t members = 1) {
  Generator generator(3);
  return {{.arch = arch,
           .vocab_size = 11,
           .block_size = 8,
           .n_layer = 1,
           .n_head = std::string(arch) == "mingru" ? 1 : 2,
           .n_embd = 16,
           .bias = std::string(arch) == "gpt2",
           .n_member = members},
          generator};
}

/// Tokens that repeat, of which the first three do not count.
data::Example repeated(int64_t count) {
  data::Example text;
  for (int64_t i = 0; i < count; ++i) {
    text.tokens.push_back(static_cast<int32_t>(i * i % 7 + i % 3));
    text.counts.push_back(i > 2);
  }
  return text;
}

double of_probability(double p) { return -std::log(p); }

double off(double probability, double others) {
  return TextScores{{of_probability(probability)}, {others}}.largest_sum_deviation();
}

TEST_CASE("the check of sums finds probabilities that do not sum to one") {
  const std::vector<double> logits{std::log(1.0) + 7, std::log(2.0) + 7, std::log(5.0) + 7};
  const auto off_at = [&](int64_t token, double probability) {
    return off(probability, TextScores::others_of(logits, token, of_probability(probability)));
  };
  CHECK(off_at(1, 0.25) < 1e-15);
  CHECK(off_at(0, 1.0 / 3) == Approx(8.0 / 3 - 1));  // the loss forgets the last token
  CHECK(off_at(1, 0.9 * 0.25) == Approx(0.1));       // each token has 0.9 of its probability
  CHECK(TextScores::others_of({-1000, 0}, 0, 1000) == Approx(1));
  // One of two models has 0.9 instead of 0.5, at the second token that is checked.
  const std::vector<double> half(TextScores::kChecked + 1, of_probability(0.5));
  TextScores right{half, {0.5, 0.5}}, wrong = right;
  CHECK(right.largest_sum_deviation() == 0);
  wrong.losses.back() = of_probability(0.9);
  CHECK(mixture_of({right, wrong}, false).largest_sum_deviation() == Approx(0.2));
  // Of a real model.
  TextScores scores = scores_of(small_decoder("llama"), {repeated(40)}, 8, false);
  CHECK(scores.others.size() == 3);
  CHECK(scores.largest_sum_deviation() < 1e-6);
  scores.losses.at(TextScores::kChecked) = 0;
  CHECK(scores.largest_sum_deviation() == Approx(scores.others[1]));
}

TEST_CASE("the weights of a learned mixture are the probabilities of what came before") {
  const auto of = [](double first, double second) {
    std::vector<double> losses(TextScores::kChecked + 1);
    losses[0] = of_probability(first), losses.back() = of_probability(second);
    return TextScores{losses, {1 - first, 1 - second}};
  };
  const std::vector<TextScores> both{of(0.5, 0.9), of(0.1, 0.2)};
  const TextScores mean = mixture_of(both, false), learned = mixture_of(both, true);
  const double last = (0.5 * 0.9 + 0.1 * 0.2) / 0.6;
  CHECK(mean.losses[0] == Approx(of_probability(0.3)));
  CHECK(mean.losses.back() == Approx(of_probability(0.55)));
  CHECK(mean.others[1] == Approx(0.45));
  CHECK(learned.losses[0] == Approx(of_probability(0.3)));
  CHECK(learned.losses.back() == Approx(of_probability(last)));
  CHECK(learned.others[1] == Approx(1 - last));
}

TEST_CASE("losses() hands over the logits that gave its losses") {
  const NoGrad no_grad;
  models::Decoder model = small_decoder("llama", 2);
  const Tensor x = tensor(std::vector<int64_t>{1, 2, 3, 4, 5, 6}, {2, 3});
  int calls = 0;
  const Tensor losses = model.losses(x, x, [&](const Tensor& logits) {
    ++calls;
    CHECK(difference(logits, model(x).reshape({6, 11})) == "");
  });
  CHECK(calls == 1);
  CHECK(difference(losses, model.losses(x, x)) == "");
}

TEST_CASE("a step of dynamic evaluation is RMS-scaled, and returns to the first values") {
  const models::Decoder first = small_decoder("llama");
  AdaptiveDecoder decoder(first, 0.064);
  REQUIRE(decoder.learns());
  const Tensor x = tensor(std::vector<int64_t>{1, 2, 3, 4}, {1, 4}),
               y = tensor(std::vector<int64_t>{2, 3, 4, 5}, {1, 4});
  std::vector<Tensor> squares(first.parameters().size());
  for (int step = 1; step <= 3; ++step) {
    models::Decoder copy = nn::deep_copy(decoder.model());
    sum(copy.losses(x, y)).backward();
    decoder.learn(decoder.model().losses(x, y));
    for (size_t i = 0; i < squares.size(); ++i) {
      const Tensor g = copy.parameters()[i].grad().to(DType::float64);
      const Tensor p0 = first.parameters()[i].detach().to(DType::float64);
      squares[i] = squares[i].defined() ? squares[i] * 0.999 + g * g * 0.001 : g * g * 0.001;
      const Tensor stepped = copy.parameters()[i].detach().to(DType::float64) -
                             g / (sqrt(squares[i] / (1 - std::pow(0.999, step))) + 1e-8) * (0.064 / 16);
      const Tensor expected = stepped + (p0 - stepped) * (0.08 * 0.064);
      CHECK(difference(decoder.model().parameters()[i].detach().to(DType::float64), expected, 1e-6) == "");
    }
  }
  AdaptiveDecoder still(first, 0);
  CHECK(!still.learns());
  still.learn(still.model().losses(x, y));
  CHECK(difference(still.model().parameters()[0].detach(), small_decoder("llama").parameters()[0].detach()) ==
        "");
}

TEST_CASE("a text has the same scores by windows and token by token, and the model stays") {
  const data::Example text = repeated(60);
  for (const auto& [arch, members] : {std::pair{"llama", 1}, {"gpt2", 1}, {"mingru", 1}, {"llama", 2}})
    for (const bool adapt : {false, true}) {
      INFO(arch << " " << members << " " << adapt);
      const models::Decoder model = small_decoder(arch, members);
      const std::vector<double> losses =
          scores_of(model, {{text.tokens, std::vector<bool>(60, true)}}, 8, adapt).losses;
      TextReader reader(model, adapt);
      CHECK(reader.probabilities() == std::vector<double>(11, 1.0 / 11));
      std::vector<double> read;
      double most = 0;  // distance of a sum from 1
      for (const int32_t token : text.tokens) {
        const std::vector<double>& p = reader.probabilities();
        read.push_back(of_probability(p[static_cast<size_t>(token)]));
        most = std::max(most, std::abs(std::accumulate(p.begin(), p.end(), -1.0)));
        reader.read(token);
      }
      CHECK(most < 1e-12);
      REQUIRE(losses.size() == 59);
      for (size_t i = 0; i < losses.size(); ++i) CHECK(std::abs(losses[i] - read[i + 1]) < 1e-4);
      CHECK(difference(model.parameters()[0], small_decoder(arch, members).parameters()[0]) == "");
    }
}

TEST_CASE("adaptation learns from what it has scored alone") {
  const models::Decoder model = small_decoder("llama");
  data::Example text = repeated(400);
  const TextScores still = scores_of(model, {text}, 4, false), learned = scores_of(model, {text}, 4, true);
  REQUIRE(learned.losses.size() == 397);
  CHECK(learned.others.size() == 25);
  CHECK(learned.largest_sum_deviation() < 1e-6);
  const auto total = [](const TextScores& scores) {
    return std::accumulate(scores.losses.begin(), scores.losses.end(), 0.0);
  };
  CHECK(total(learned) < total(still) - 10);
  text.tokens[300] = (text.tokens[300] + 1) % 11;
  const TextScores other = scores_of(model, {text}, 4, true);
  for (size_t i = 0; i < 397; ++i)
    if (i < 297) CHECK(other.losses[i] == learned.losses[i]);
  CHECK(other.losses[397 - 1] != learned.losses[397 - 1]);
}

}  // namespace gradus::train::test_text_scores

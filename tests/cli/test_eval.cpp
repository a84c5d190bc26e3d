// `gradus eval` with strides and several models, against sums over single windows.
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/program.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/data/text.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/train/text_scores.hpp"

namespace gradus::cli::test_eval {

using nlohmann::json;

const std::string kText = "In the beginning God created the heaven and the earth.\n";

/// A model of random weights over bytes.
models::Decoder write_model(const std::string& folder, int64_t block, int64_t width, uint64_t seed) {
  Generator generator(seed);
  models::Decoder model({.vocab_size = 256, .block_size = block, .n_layer = 1, .n_head = 2, .n_embd = width},
                        generator);
  for (Tensor& parameter : model.parameters()) {
    const NoGrad no_grad;
    parameter.copy_(parameter * 20.0);  // Far from equal probabilities.
  }
  models::save_pretrained(model, folder);
  data::save_tokenizer(data::Tokenizer::bytes(), folder);
  return model;
}

/// The probability of each byte but the first: from the first window of Hugging Face's guide that holds it.
std::vector<double> probabilities(models::Decoder& model, int64_t stride) {
  const NoGrad no_grad;
  model.eval();
  std::vector<double> all;
  const auto count = static_cast<int64_t>(kText.size()) - 1;
  for (int64_t target = 1; target <= count; ++target) {
    int64_t begin = 0;
    while (begin + model.config().block_size < target) begin += stride;
    std::vector<int64_t> window;
    for (int64_t i = begin; i < target; ++i)
      window.push_back(static_cast<unsigned char>(kText[static_cast<size_t>(i)]));
    const auto length = static_cast<int64_t>(window.size());
    const Tensor logits = model(tensor(window, {1, length})).select(1, -1).to(DType::float64);
    const Tensor p = softmax(logits, -1);
    all.push_back(p.at({0, static_cast<unsigned char>(kText[static_cast<size_t>(target)])}));
  }
  return all;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double mean_loss_of(const std::vector<double>& probabilities) {
  double sum = 0;
  for (const double p : probabilities) sum -= std::log(p);
  return sum / static_cast<double>(probabilities.size());
}

json evaluated(const std::vector<std::string>& arguments) {
  const Outcome outcome = call("eval", arguments, "--json");
  CHECK(outcome.err == "");
  return json::parse(outcome.out);
}

TEST_CASE("eval --stride predicts each token once, with the context that the stride leaves") {
  const Scratch scratch;
  models::Decoder model = write_model(scratch.path("a"), 8, 16, 1);
  const std::string text = scratch.file("text", kText);
  const double whole = evaluated({scratch.path("a"), "--text", text}).at("loss");
  CHECK(whole == Approx(mean_loss_of(probabilities(model, 8))).epsilon(1e-5));
  for (const int64_t stride : {1, 3, 8}) {
    INFO(stride);
    const json result = evaluated({scratch.path("a"), "--text", text, "--stride", std::to_string(stride)});
    CHECK(result.at("loss").get<double>() ==
          Approx(mean_loss_of(probabilities(model, stride))).epsilon(1e-5));
    CHECK(result.at("tokens") == kText.size() - 1);
  }
  const double off = evaluated({scratch.path("a"), "--text", text}).at("largest_sum_deviation");
  CHECK((off > 0 && off < 1e-5));
  CHECK_HAS(call("eval", scratch.path("a"), "--text", text).out, "\nprobabilities  sum to 1 within ");
  for (const char* stride : {"0", "9"})
    check_refused({"eval", scratch.path("a"), "--text", text, "--stride", stride},
                  {"--stride must be in [1, 8]", stride});
  check_refused({"eval", scratch.path("a"), "--text", scratch.file("one", "x")},
                {"--text must have at least 2 tokens", "got 1."});
}

TEST_CASE("eval of several models gives the loss of their mean probabilities, and that of each") {
  const Scratch scratch;
  const std::string a = scratch.path("a"), b = scratch.path("b"), text = scratch.file("text", kText);
  models::Decoder first = write_model(a, 8, 16, 1), second = write_model(b, 5, 12, 2);
  const std::vector<double> p = probabilities(first, 4), q = probabilities(second, 4);
  std::vector<double> mean;
  for (size_t i = 0; i < p.size(); ++i) mean.push_back((p[i] + q[i]) / 2);
  const json result = evaluated(args(a, b, "--text", text, "--stride 4"));
  CHECK(result.at("loss").get<double>() == Approx(mean_loss_of(mean)).epsilon(1e-5));
  CHECK(result.at("losses").at(0).get<double>() == Approx(mean_loss_of(p)).epsilon(1e-5));
  CHECK(result.at("losses").at(1).get<double>() == Approx(mean_loss_of(q)).epsilon(1e-5));
  CHECK_HAS(call("eval", a, b, "--text", text).out, " nats a token, " + b + "\n");
  data::save_tokenizer(data::Tokenizer::make("bpe", "", 257), b);
  check_refused({"eval", a, b, "--text", text}, {b});
}

TEST_CASE("eval --adapt is the mixture of decoders that learn from what they have predicted") {
  const Scratch scratch;
  const std::string a = scratch.path("a"), b = scratch.path("b"), twice = kText + kText;
  const models::Decoder first = write_model(a, 8, 16, 1), second = write_model(b, 5, 12, 2);
  const std::string text = scratch.file("text", twice);
  const data::ExampleList texts{data::sequence_of(twice, data::Tokenizer::bytes())};
  const train::TextScores p = train::scores_of(first, texts, 4, true),
                          q = train::scores_of(second, texts, 4, true);
  const json one = evaluated(args(a, "--adapt --stride 4 --text", text));
  CHECK(one.at("loss").get<double>() == Approx(mean(p.losses)).epsilon(1e-6));
  CHECK(one.at("loss").get<double>() <
        evaluated(args(a, "--stride 4 --text", text)).at("loss").get<double>());
  const json both = evaluated(args(a, b, "--adapt --stride 4 --text", text));
  CHECK(both.at("loss").get<double>() == Approx(mean(train::mixture_of({p, q}, false).losses)).epsilon(1e-6));
  CHECK(both.at("losses").at(1).get<double>() == Approx(mean(q.losses)).epsilon(1e-6));
  check_refused(args("eval", a, "--adapt --weights int8 --text", text),
                {"--adapt needs --weights float32", "int8"});
  check_refused(args("eval", a, "--adapt --text", scratch.file("t.jsonl", R"({"text": "a"})")),
                {"--adapt needs a plain text, got JSONL"});
  check_refused(args("eval", a, "--adapt --tokens --text", text), {"--adapt"});
}

}  // namespace gradus::cli::test_eval

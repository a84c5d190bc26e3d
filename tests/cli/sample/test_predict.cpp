// gradus eval --tokens, and what ends a text of gradus sample.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::cli::test_predict {

using Json = nlohmann::json;

struct Trained {
  Scratch scratch;
  std::string folder = scratch.path("run");

  explicit Trained(const std::vector<std::string>& flags = {}) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "One by one\nthe \xE2\x82\xAC" + std::to_string(i % 7) + " fell.\n";
    must("train --text", scratch.file("text.txt", text), "--preset tiny --steps 60 --out", folder, "--quiet",
         flags);
  }
};

/// Of the token after `tokens`, by a forward of its own in float64 from the logits on.
std::vector<double> expected(models::Decoder& model, const std::vector<int64_t>& tokens) {
  model.eval();
  const auto T = std::min<int64_t>(model.config().block_size, static_cast<int64_t>(tokens.size()));
  const Tensor idx = tensor(std::vector<int64_t>(tokens.end() - T, tokens.end()), {1, T});
  const Tensor logits = model(idx).detach().select(0, 0).select(0, T - 1).to(DType::float64);
  return softmax(logits, 0).to_vector<double>();
}

int64_t rank_of(const std::vector<double>& p, int64_t token) {
  int64_t rank = 1;
  for (const double other : p) rank += other > p[static_cast<size_t>(token)] ? 1 : 0;
  return rank;
}

TEST_CASE("eval --tokens gives each token the probability that a forward gives it, beyond the block too") {
  const Trained run;
  const Outcome old = call("predict", run.folder, "--prompt One"),
                now = call("eval --tokens", run.folder, "--prompt One");
  CHECK(old.out == now.out);
  CHECK(old.err == "note: predict is now eval --tokens\n");
  auto [model, tokenizer] = train::load_trained(run.folder);
  std::string prompt;
  while (static_cast<int64_t>(prompt.size()) < model.config().block_size + 5)
    prompt += "One by one\nthe fell.";
  const Outcome outcome = must("eval --tokens", run.folder, "--prompt", prompt, "--json --top 3 --all");
  const Json json = Json::parse(outcome.out);
  const std::vector<int32_t> text = tokenizer.encode(prompt);
  REQUIRE(json["tokens"].size() == text.size());
  CHECK(json["tokens"][0]["probability"].is_null());
  CHECK(json["tokens"][0]["rank"].is_null());
  std::vector<int64_t> before;
  double loss = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i > 0) {
      const std::vector<double> p = expected(model, before);
      const Json& likeliest = i < text.size() ? json["tokens"][i]["likeliest"] : json["next"];
      REQUIRE(likeliest.size() == 3);
      for (size_t k = 0; k < 3; ++k) {
        const auto id = likeliest[k]["id"].get<int64_t>();
        CHECK(std::abs(likeliest[k]["probability"].get<double>() - p[static_cast<size_t>(id)]) < 1e-5);
        CHECK(likeliest[k]["rank"] == k + 1);
      }
      if (i < text.size()) {
        const double found = json["tokens"][i]["probability"], wanted = p[static_cast<size_t>(text[i])];
        CHECK(std::abs(found - wanted) < 1e-5);
        CHECK(json["tokens"][i]["rank"] == rank_of(p, text[i]));
        loss -= std::log(wanted);
      }
    }
    if (i < text.size()) {
      CHECK(json["tokens"][i]["id"] == text[i]);
      CHECK(json["tokens"][i]["text"] == tokenizer.decode({&text[i], 1}));
      before.push_back(text[i]);
    }
  }
  loss /= static_cast<double>(text.size() - 1);
  CHECK(std::abs(json["loss"].get<double>() - loss) < 1e-4);
  CHECK(std::abs(json["perplexity"].get<double>() - std::exp(loss)) < 1e-3);
}

TEST_CASE("eval --tokens prints a line a token and what comes next, and refuses what it cannot read") {
  const Trained run;
  const Outcome outcome = must("eval --tokens", run.folder, "--prompt", std::string("One\n"), "--top 4");
  const std::vector<std::string> lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 14);
  CHECK_HAS(lines[0], "probability", "rank");
  CHECK_THAT(lines[1], ContainsSubstring("- ") && Catch::Matchers::EndsWith("'O'"));
  CHECK_THAT(lines[4], Catch::Matchers::EndsWith("'\\n'"));
  CHECK(lines[6] == "next");
  CHECK_HAS(lines[12], "nats a token on the 3 after the first");
  CHECK(outcome.out.find('#') == std::string::npos);

  const Outcome one = must("eval --tokens", run.folder, "--prompt O");
  CHECK(one.out.find("loss") == std::string::npos);
  const Outcome piped =
      run_program(args("eval --tokens", run.folder, "--prompt - --top 4"), {.stdin_text = "One\n\n"});
  CHECK(piped.out == outcome.out);
  check_refused({"eval", "--tokens", run.folder}, {"--text FILE or --prompt TEXT, got none"});
  check_refused({"eval", "--tokens", run.folder, "--prompt", ""}, {"--prompt must have at least one token"});
  check_refused(args("eval --tokens", run.folder, "--prompt Zoo"), {"'Z'"});
  check_refused(args("eval", run.folder, "--prompt O --top 3"), {"--top requires --tokens"});
  check_refused(args("eval --tokens", run.folder, "--prompt O --stride 3"), {"--stride excludes --tokens"});
  check_refused(args("eval", run.folder, "--prompt O"), {"--prompt must have at least 2 tokens"});
  check_refused(args("eval --tokens", run.folder, "--prompt O --top 0"), {"--top", "at least 1, got 0"});
  check_refused(args("eval --tokens", run.folder, "--prompt O --weights int3"), args("--weights int4"));
  check_refused(args("eval --tokens", run.scratch.path("none"), "--prompt O"), {"config.json"});
}

TEST_CASE("eval --tokens shows tokens that are parts of characters") {
  const Trained run(args("--tokenizer byte"));
  const Outcome people = must("eval --tokens", run.folder, "--prompt", std::string("the \xE2\x82\xAC"));
  CHECK_HAS(people.out, "'\\xe2'", "'\\xac'");
  const Json json = Json::parse(call("eval --tokens", run.folder, "--prompt \xE2\x82\xAC --json").out);
  CHECK(json["tokens"][0]["id"] == 0xE2);
  CHECK(json["tokens"][0]["text"] == "\xEF\xBF\xBD");
}

TEST_CASE("a sample ends before the first string to stop at, which may span tokens") {
  const Trained run;
  const auto sample = [&](const std::vector<std::string>& flags) {
    return call("sample", run.folder, "--prompt One --tokens 200", flags).out;
  };
  const std::string whole = sample({});
  const std::string never = "0000000";
  REQUIRE(whole.find(never) == std::string::npos);
  const auto is_ascii = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
  };
  for (size_t from : {size_t{3}, size_t{20}, size_t{60}}) {
    while (!is_ascii(whole.substr(from, 4))) ++from;
    const std::string stop = whole.substr(from, 4);
    const std::string wanted = whole.substr(0, whole.find(stop, 3)) + "\n";
    CHECK(sample({"--stop", stop}) == wanted);
    CHECK(sample({"--stop", never, "--stop", stop}) == wanted);
  }
  CHECK(sample({"--stop", never}) == whole);
  CHECK(sample(args("--draft 7")) == whole);
  CHECK_THAT(sample(args("--stop One")), Catch::Matchers::StartsWith("One"));  // a prompt ends nothing
  check_refused({"sample", run.folder, "--stop", ""}, {"--stop must be a text"});
  check_refused(args("sample", run.folder, "--stop Zoo"),
                {"--stop must be a text that the model can write", "'Z'"});
  check_refused(args("sample", run.folder, "--min-p 1.5"), {"--min-p must be in [0, 1], got 1.5"});
  check_refused(args("sample", run.folder, "--repetition-penalty 0"), {"--repetition-penalty must be > 0"});
  check_refused(args("sample", run.folder, "--draft 8"), {"--draft must be in [0, 7], got 8"});
}

}  // namespace gradus::cli::test_predict

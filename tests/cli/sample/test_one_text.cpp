// One text, one treatment: what precedes and ends a text is the same for every verb.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/models/stored/pretrained.hpp"

namespace test_one_text {

using namespace gradus;
using namespace gradus::cli;
using nlohmann::json;
using Tokens = std::vector<int64_t>;

constexpr int32_t kEnd = 256;  // the only special token: it precedes a text and ends one

/// A model over bytes and a special token before each text. With `ends`, it always predicts that token.
struct Model {
  Scratch scratch;
  std::string folder = scratch.path("model");
  models::Decoder model;

  explicit Model(bool ends = false, int64_t block = 16) : model(made(ends, block)) {
    models::save_pretrained(model, folder);
    std::string text = data::Tokenizer::make("bpe", "", 257).to_tokenizer_json();
    const std::string none = "\"post_processor\": null";
    text.replace(
        text.find(none), none.size(),
        R"("post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": )"
        R"({"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [], )"
        R"("special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [256], "tokens": )"
        R"(["<|endoftext|>"]}}})");
    scratch.file("model/tokenizer.json", text);
    model.eval();
  }
  static models::Decoder made(bool ends, int64_t block) {
    Generator generator(5);
    models::Decoder model({.vocab_size = 257, .block_size = block, .n_layer = 1, .n_head = 2, .n_embd = 8},
                          generator);
    const NoGrad no_grad;
    nn::StateDict state = model.state_dict();
    for (auto& [name, values] : state) values.copy_(values * (ends ? 0.0 : 20.0));
    if (ends) state.at("wte.weight").slice(0, kEnd, kEnd + 1).copy_(ones({1, 8}));
    if (ends) state.at("ln_f.bias").copy_(ones({8}));
    return model;
  }
  /// The mean of -log p of the tokens from `first` on.
  double loss_of(const Tokens& tokens, size_t first) const {
    const NoGrad no_grad;
    const auto length = std::ssize(tokens);
    const Tensor p = softmax(model(tensor(tokens, {1, length})).to(DType::float64), -1);
    double sum = 0;
    for (size_t i = first; i < tokens.size(); ++i)
      sum -= std::log(p.at({0, static_cast<int64_t>(i) - 1, tokens[i]}));
    return sum / static_cast<double>(tokens.size() - first);
  }
};

/// The tokens of a text: GPT-2 numbers bytes by their letters, of which '!' is the first.
Tokens with_start(const std::string& text) {
  Tokens tokens{kEnd};
  for (const char c : text) tokens.push_back(c - '!');
  return tokens;
}

json object_of(const std::vector<std::string>& arguments) { return json::parse(must(arguments).out); }

TEST_CASE("eval, each token, look and training read the token before a text, and none counts it",
          "[needs.formats]") {
  const Model m;
  const std::string text = "Anna,too";
  const double loss = m.loss_of(with_start(text), 1);
  const json predicted = object_of({"eval", m.folder, "--tokens", "--prompt", text, "--json"});
  CHECK(predicted.at("loss").get<double>() == Approx(loss).epsilon(1e-5));
  CHECK(predicted.at("tokens").size() == text.size() + 1);
  CHECK(predicted.at("tokens")[0].at("id") == kEnd);
  const std::string file = m.scratch.file("x.txt", text),
                    examples = m.scratch.file("x.jsonl", json{{"text", text}}.dump() + "\n");
  json measured = object_of({"eval", m.folder, "--text", file, "--json"});
  CHECK(measured.at("loss").get<double>() == Approx(loss).epsilon(1e-5));
  CHECK(measured.at("tokens") == text.size());
  CHECK(measured.at("bytes") == text.size());
  CHECK(object_of({"look", m.folder, "--prompt", text, "--json"}).at("tokens").size() == text.size() + 1);

  // A {"text"} line ends with the end token, which has a loss and no bytes of text.
  Tokens ended = with_start(text);
  ended.push_back(kEnd);
  measured = object_of({"eval", m.folder, "--text", examples, "--json"});
  CHECK(measured.at("loss").get<double>() == Approx(m.loss_of(ended, 1)).epsilon(1e-5));
  CHECK(measured.at("tokens") == text.size() + 1);
  CHECK(measured.at("bytes") == text.size());
  CHECK(measured.at("bits_per_byte").get<double>() ==
        Approx(m.loss_of(ended, 1) * 9 / 8 / std::log(2.0)).epsilon(1e-5));

  // The loss before a run is that of eval on the same text.
  const std::string out = m.scratch.path("run");
  must("train --init-from", m.folder, "--text", file, "--val-text", file, "--block 8 --steps 1 --quiet --out",
       out);
  const std::string log = read(out + "/metrics.jsonl");
  const size_t at = log.find("\"event\":\"eval\"");
  const json first =
      json::parse(log.substr(log.rfind('\n', at) + 1, log.find('\n', at) - log.rfind('\n', at)));
  CHECK(first.at("step") == 0);
  CHECK(first.at("tokens") == text.size());
  CHECK(first.at("val_loss").get<double>() == Approx(loss).epsilon(1e-4));
}

TEST_CASE("a text ends before the end token, and an empty prompt is the token before a text",
          "[needs.formats]") {
  const Model m(/*ends=*/true);
  for (const std::string prompt : {"Anna", ""}) {
    const Outcome sample = must("sample", m.folder, "--greedy --tokens 4 --prompt", prompt);
    CHECK(sample.out == prompt + "\n");
  }
  CHECK(object_of({"eval", m.folder, "--tokens", "--prompt", "", "--json"}).at("next")[0].at("id") == kEnd);
}

TEST_CASE("the line end of a piped prompt is no part of it, LF or CR LF", "[needs.formats]") {
  const Model m;
  const std::vector<std::string> arguments{"eval", m.folder, "--tokens", "--prompt", "-", "--json"};
  const std::string lf = run_program(arguments, {.stdin_text = "Anna\n"}).out;
  for (const char* other : {"Anna", "Anna\r\n"})
    CHECK(run_program(arguments, {.stdin_text = other}).out == lf);
  CHECK(run_program(arguments, {.stdin_text = "Anna\n\n"}).out != lf);
}

TEST_CASE("files of examples are read one by one, and errors and losses name the file", "[needs.formats]") {
  const Model m;
  const std::string line = json{{"text", "ab"}}.dump(), a = m.scratch.file("a.jsonl", line),
                    b = m.scratch.file("b.json", "[" + line + ",\n" + line + "]\n"),
                    bad = m.scratch.file("c.ndjson", line + "\n{\"text\": 1}\n"),
                    losses = m.scratch.path("losses");
  CHECK(object_of({"eval", m.folder, "--text", a, b, "--json", "--per-example", losses}).at("tokens") == 9);
  const std::vector<std::string> lines = lines_of(read(losses));
  REQUIRE(lines.size() == 3);
  CHECK(json::parse(lines[0]).at("file") == a);
  CHECK(json::parse(lines[2]).at("file") == b);
  CHECK(json::parse(lines[2]).at("line") == 2);
  check_refused({"eval", m.folder, "--text", a, bad}, {bad + ":2", "text must be a string, got 1"});
  check_refused({"eval", m.folder, "--text", a, m.scratch.file("d.txt", "ab")},
                {"must all be JSONL or none"});
  check_refused({"look", m.folder, "--text", a}, {"--text must be plain text"});
}

TEST_CASE("what is left out of --text and of --val-text is noted for each", "[needs.formats]") {
  const Model m;
  const std::string good = m.scratch.file("a.jsonl", json{{"text", "abc"}}.dump()),
                    long_one = m.scratch.file("b.jsonl", json{{"text", "abcdefghijk"}}.dump() + "\n{\n");
  const auto notes = [&](const std::string& text, const std::string& val, const std::string& out) {
    const Outcome run = must("train --init-from", m.folder, "--text", text, "--val-text", val,
                             "--block 8 --steps 1 --skip-bad --warmup 0 --out", m.scratch.path(out));
    std::string found;
    for (const std::string& line : lines_of(run.err))
      if (line.starts_with("note: ")) found += line + "\n";
    return found;
  };
  const std::string what =
      "1 bad lines were skipped; 1 examples were longer than the context and lost 4 tokens\n";
  CHECK(notes(good, long_one, "x") == "note: of --val-text, " + what);
  CHECK(notes(long_one, good, "y") == "note: " + what);
}

TEST_CASE("memory is checked for the tokens that a verb reads, not for the whole context") {
  Generator generator(1);
  models::DecoderConfig config{
      .vocab_size = 256, .block_size = 1 << 25, .n_layer = 8, .n_head = 1, .n_embd = 64};
  config.arch = "llama";
  config.bias = false;
  config.n_kv_head = 1;
  config.n_inner = 8;
  const Scratch scratch;
  const std::string folder = scratch.path("long"), text = scratch.file("x.txt", "some text");
  models::save_pretrained(models::Decoder(config, generator), folder);
  data::save_tokenizer(data::Tokenizer::bytes(), folder);
  must("sample", folder, "--prompt a --tokens 3");
  must("eval", folder, "--tokens --prompt abc");
  must("eval", folder, "--text", text);
  check_refused({"sample", folder, "--prompt", "a", "--tokens", "1000000000"}, {"the model must fit into"});
}

}  // namespace test_one_text

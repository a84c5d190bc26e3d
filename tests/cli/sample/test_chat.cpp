// Questions and answers: `train` on JSONL, and `chat`.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace gradus::cli::test_chat {

using nlohmann::json;

std::string questions() {
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    const char letter = static_cast<char>('a' + i % 6);
    lines +=
        json{{"prompt", std::string("say ") + letter}, {"completion", std::string(3, letter)}}.dump() + "\n";
  }
  return lines;
}

std::vector<std::string> train(const std::string& text, const std::string& out,
                               const std::vector<std::string>& more = {}) {
  return args("train --text", text, "--out", out,
              "--preset tiny --tokenizer byte --block 64 --batch 4 --lr 1e-2 --quiet", more);
}

TEST_CASE("a model that is trained on questions answers them") {
  const Scratch scratch;
  const std::string text = scratch.file("q.jsonl", questions()), out = scratch.path("run");
  must(train(text, out, args("--steps 150")));
  const Outcome piped =
      must_run(args("chat", out, "--greedy --tokens 20"), {.stdin_text = "say c\n\n/reset\nsay e\n"});
  CHECK(piped.out == "ccc\neee\n");
  const Outcome object = run_program(args("chat", out, "--greedy --json"), {.stdin_text = "say b"});
  CHECK(json::parse(object.out) == json{{"question", "say b"}, {"answer", "bbb"}});
  // Only answers count: three letters and the end, of the last tenth of the examples.
  must("info", out);
  check_refused(args("chat", out, "--tokens -1"), {"--tokens must be >= 0, got -1"}, {.stdin_text = "x\n"});
  check_refused({"chat", out}, {"a question must have fewer than the 64 tokens"},
                {.stdin_text = std::string(90, 'x') + "\n"});
  // ChatML writes an empty message of the system: 10 tokens more than without one, of 40 + 19.
  check_refused({"chat", out, "--system", ""}, {"fewer than the 64 tokens of the context, got 69"},
                {.stdin_text = std::string(40, 'x') + "\n"});
}

TEST_CASE("a stopped run on JSONL resumes with the same bits") {
  const Scratch scratch;
  const std::string text = scratch.file("q.jsonl", questions()), whole = scratch.path("whole");
  check_resumes(scratch, train(text, whole, args("--steps 12 --accum 2 --dropout 0.1")), "5",
                {"last/model.safetensors"});
}

TEST_CASE("bad JSONL is refused by line, or counted") {
  const Scratch scratch;
  const std::string bad = scratch.file("bad.jsonl", questions() + "{\"prompt\":1}\n"),
                    out = scratch.path("run"), text = scratch.file("t.txt", std::string(900, 'a'));
  check_refused(train(bad, out, args("--steps 1")), {"bad.jsonl:61", "prompt must be a string, got 1"});
  must(train(bad, out, args("--steps 1 --skip-bad")));
  check_refused(train(text, scratch.path("x"), {"--text", bad}), {"must all be JSONL or none"});
  check_refused(train(text, scratch.path("x"), {"--val-text", bad}), {"must all be JSONL or none"});
  check_refused(train(text, scratch.path("x"), args("--loss-on questions")), {"--loss-on", "answers or all"});
  const std::string plain = scratch.path("plain"), good = scratch.file("good.jsonl", questions());
  must(train(text, plain, args("--steps 1")));
  for (const std::string flag : {"--loss-on answers", "--skip-bad", "--chat-format chatml"})
    check_refused(train(text, scratch.path("x"), split(flag)),
                  {split(flag)[0] + " must come with a --text of JSONL, got "});
  check_refused(train(good, scratch.path("x"), args("--text-weights 1")),
                {"--text-weights must be left out with a --text of JSONL"});
  check_refused(args("train --init-from", plain, "--text", text, "--chat-tokens"),
                {"--chat-tokens must come with a tokenizer that is made from the text"});
  check_refused(train(good, scratch.path("x"), args("--val-text", good, "--val-fraction 0.2")),
                {"--val-text and --val-fraction must not come together"});
  // JSON in a .txt file may be meant as a text.
  const std::string json_text = scratch.file("j.txt", std::string(90, ' ') + "{\"a\": 1}\n{\"b\": 2}\n");
  const Outcome evaluated = call("eval", plain, "--text", json_text);
  CHECK_HAS(evaluated.err, "note: ", "j.txt\" was read as plain text, although it looks like JSON\n");
  const Outcome few = run_program(train(good, scratch.path("few"), args("--steps 1 --eval-tokens 8 --json")));
  CHECK_HAS(few.out, R"("event":"eval")", R"("tokens":8,)");  // of 6 windows with 4 targets each
  check_refused({"chat", plain}, {"must have a tokenizer with a chat template", "JSONL"},
                {.stdin_text = "x\n"});
}

TEST_CASE("eval measures the answers of examples, each by itself") {
  const Scratch scratch;
  const std::string text = scratch.file("q.jsonl", questions()), out = scratch.path("run"),
                    losses = scratch.path("losses.jsonl"),
                    one = scratch.file("one.jsonl", questions().substr(0, 38));
  must(train(text, out, args("--steps 3")));
  const Outcome all = must("eval", out, "--text", text, "--per-example", losses, "--json");
  std::istringstream lines(read(losses));
  double sum = 0;
  int64_t count = 0;
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    sum += json::parse(line).at("loss").get<double>() * json::parse(line).at("tokens").get<double>();
    CHECK(json::parse(line).at("line") == ++count);
    CHECK(json::parse(line).at("tokens") == 4);  // three letters and the end
  }
  CHECK(count == 60);
  CHECK(json::parse(all.out).at("loss").get<double>() == Approx(sum / 240));
  const Outcome single = call("eval", out, "--text", one, "--json");
  CHECK(json::parse(single.out).at("loss").get<double>() ==
        Approx(json::parse(first).at("loss").get<double>()));
  check_refused({"eval", out, "--text", scratch.file("a.txt", "abc"), "--per-example", losses},
                {"needs a --text of JSONL"});
}

}  // namespace gradus::cli::test_chat

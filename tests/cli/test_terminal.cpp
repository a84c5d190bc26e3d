// What files, names and models say reaches no terminal as something that it obeys.
#include "machine.hpp"
#include "program.hpp"
#include "pseudo_terminal.hpp"

namespace gradus::cli::test_terminal {

/// Everything that `gradus` writes to a terminal.
std::string on_terminal(const std::vector<std::string>& arguments) {
  PseudoTerminal terminal(arguments);
  CHECK(terminal.exit_code() == 0);
  return terminal.rest();
}

bool is_harmless(const std::string& text) {
  for (const unsigned char byte : text)
    if ((byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7F) return false;
  return text.find("\xC2\x9B") == std::string::npos && text.find("\xE2\x80\xAE") == std::string::npos;
}

/// A run on a text full of what a terminal obeys.
struct Run {
  Scratch scratch;
  std::string out = scratch.path("run");

  explicit Run(const std::string& tokenizer) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "\x1b[2Ja\x07\xC3\xA9\xC2\x9B\xE2\x80\xAE\x7f\n";
    must("train --text", scratch.file("te\x1b[7mxt\x07.txt", text), "--preset tiny --steps 30 --tokenizer",
         tokenizer, "--out", out, "--quiet");
  }
};

TEST_CASE("sampled text obeys nobody on a terminal and keeps every byte in a pipe") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const std::string tokenizer = GENERATE("char", "byte");
  INFO(tokenizer);
  const Run run(tokenizer);
  const std::vector<std::string> sample = args("sample", run.out, "--tokens 300 --prompt \x1b[2J\xC3\xA9");
  const std::string shown = on_terminal(sample), piped = run_program(sample).out;
  INFO(shown);
  CHECK(is_harmless(shown));
  CHECK_HAS(shown, "\\x1b[2J\xC3\xA9");
  CHECK(shown.find("\\x", 4) != std::string::npos);  // sampled, behind the prompt's
  CHECK(piped.starts_with("\x1b[2J\xC3\xA9"));
  CHECK_FALSE(is_harmless(piped));
}

TEST_CASE("names of files and values of train.json obey nobody, on a terminal and in a pipe") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const Run run("char");
  for (const std::string& shown : {on_terminal({"info", run.out}), call("info", run.out).out}) {
    INFO(shown);
    CHECK(is_harmless(shown));
    CHECK_HAS(shown, "te\\x1b[7mxt\\x07.txt");
  }
}

TEST_CASE("errors and notes obey nobody") {
  const Scratch scratch;
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& word) {
    CHECK(is_harmless(check_refused(arguments, {word})));
  };
  refused(args("info no\x1b[2Jne\x07"), "no\\x1b[2Jne\\x07");
  refused(args("train --decay \x1b]0;x\x07"), "\\x1b]0;x\\x07");
  scratch.file(
      "config.json",
      R"({"model_type": "gpt2", "vocab_size": 2, "n_positions": 2, "n_embd": 2, "n_layer": 1, "n_head": 1})");
  const std::string header = R"({"\u001b[2J\u0007":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})";
  std::string model(8, '\0');
  model[0] = static_cast<char>(header.size());
  scratch.file("model.safetensors", model.append(header));
  refused({"info", scratch.path(".")}, "unexpected: \\x1b[2J\\x07");

  std::string text;
  for (int i = 0; i < 200; ++i) text += "abc\x1b[2J\n";
  const Outcome trained = must("train --text", scratch.file("te\x1b[7mxt.txt", text),
                               "--preset tiny --steps 2 --out", scratch.path("ru\x07n"), "--json");
  INFO(trained.err);
  CHECK(is_harmless(trained.err));
  CHECK_HAS(trained.err, "te\\x1b[7mxt.txt", "ru\\x07n");
}

}  // namespace gradus::cli::test_terminal

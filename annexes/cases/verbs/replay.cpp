// gradus replay: compares a computation with the results of PyTorch. This reads the flags;
// python/gradus/replay.py does the rest.
#include <memory>

#include "gradus/annexes/bench/verbs/python.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/verbs.hpp"

namespace gradus::cli {

Action add_replay(CLI::App& verb, const std::string& program) {
  struct Flags {
    std::string file, only;
    bool json = false, quiet = false;
  };
  auto flags = std::make_shared<Flags>();
  add_argument(verb, "file", flags->file, "FILE", "A file of cases in JSON");
  add_value(verb, "--case", flags->only, "NAME", "Run only the case of this name");
  verb.add_flag("--quiet", flags->quiet, "Print only the cases that fail, and the last line");
  verb.add_flag("--json", flags->json, "Print a JSON line for each check");
  verb.footer(with_program(
      R"(A case is a seed, named tensors, and steps with PyTorch's result of each: expected or value
(numbers within a tolerance), weights (bit for bit) or text (character for character). The first
step that differs is printed first. Exits with 3 if a step differs. annexes/cases/README.md
describes the file format.

Examples:
  $ replay tests/annexes/cases/replay/example.json
  $ replay mine.json --case attention --json)",
      program));
  return {[flags]() -> int {
    std::vector<std::string> words;
    if (!flags->only.empty()) words = {"--case=" + flags->only};
    if (flags->quiet) words.emplace_back("--quiet");
    if (flags->json) words.emplace_back("--json");
    words.insert(words.end(), {"--", flags->file});
    become_module("replay", words);
  }};
}

}  // namespace gradus::cli

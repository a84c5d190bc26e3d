// gradus replay: compares a computation with the results of PyTorch. This reads the flags;
// python/gradus/replay.py does the rest.
#include "gradus/annexes/bench/verbs/python.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/verbs.hpp"

namespace gradus::cli {

Action add_replay(CLI::App& verb, const std::string& program) {
  verb.add_option("file", "A file of cases in JSON")->type_name("FILE")->required();
  verb.add_option("--case", "Run only the case of this name")->type_name("NAME")->take_last();
  verb.add_flag("--quiet")->description("Print only the cases that fail, and the last line");
  verb.add_flag("--json")->description("Print a JSON line for each check");
  verb.footer(with_program(
      R"(A case is a seed, named tensors, and steps with PyTorch's result of each: expected or value
(numbers within a tolerance), weights (bit for bit) or text (character for character). The first
step that differs is printed first. Exits with 3 if a step differs. annexes/cases/README.md
describes the file format.

Examples:
  $ replay tests/annexes/cases/replay/example.json
  $ replay mine.json --case attention --json)",
      program));
  return {[&verb]() -> int { become_module("replay", words_of(verb)); }};
}

}  // namespace gradus::cli

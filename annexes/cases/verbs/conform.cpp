// gradus conform: compares operations with PyTorch. This reads flags; python/gradus/conform.py does the rest.
#include <memory>

#include "gradus/annexes/bench/verbs/python.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/verbs.hpp"

namespace gradus::cli {

Action add_conform(CLI::App& verb, const std::string& program) {
  struct Flags {
    std::string file, only;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  add_argument(verb, "where", flags->file, "DIR|FILE", "A file of cases, or a folder of *.jsonl");
  add_value(verb, "--op", flags->only, "NAME", "Run only the cases of this op");
  verb.add_flag("--json", flags->json, "Print a JSON line for each failing case, and one at the end");
  verb.footer(
      with_program(R"(A case has inputs and PyTorch's outputs, gradients and gradients of gradients. Each case
runs in float64 on packed, transposed, stepped and expanded inputs, and in float32
against float64. Intended differences from PyTorch are reported with the reason. Exits
with 3 if a case differs. annexes/cases/README.md describes the file format.

Examples:
  $ conform tests/annexes/cases/conform
  $ conform tests/annexes/cases/conform/opinfo.jsonl --op softmax)",
                   program));
  return {[flags]() -> int {
    std::vector<std::string> words;
    if (!flags->only.empty()) words = {"--op=" + flags->only};
    if (flags->json) words.emplace_back("--json");
    words.insert(words.end(), {"--", flags->file});
    become_module("conform", words);
  }};
}

}  // namespace gradus::cli

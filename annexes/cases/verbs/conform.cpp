// gradus conform: compares operations with PyTorch. This reads flags; python/gradus/conform.py does the rest.
#include "gradus/annexes/bench/verbs/python.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/verbs.hpp"

namespace gradus::cli {

Action add_conform(CLI::App& verb, const std::string& program) {
  verb.add_option("where", "A file of cases, or a folder of *.jsonl")->type_name("DIR|FILE")->required();
  verb.add_option("--op", "Run only the cases of this op")->type_name("NAME")->take_last();
  verb.add_flag("--json")->description("Print a JSON line for each failing case, and one at the end");
  verb.footer(
      with_program(R"(A case has inputs and PyTorch's outputs, gradients and gradients of gradients. Each case
runs in float64 on packed, transposed, stepped and expanded inputs, and in float32
against float64. Intended differences from PyTorch are reported with the reason. Exits
with 3 if a case differs. annexes/cases/README.md describes the file format.

Examples:
  $ conform tests/annexes/cases/conform
  $ conform tests/annexes/cases/conform/opinfo.jsonl --op softmax)",
                   program));
  return {[&verb]() -> int { become_module("conform", words_of(verb)); }};
}

}  // namespace gradus::cli

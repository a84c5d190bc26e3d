// gradus conform: compares operations with results of PyTorch.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gradus/annexes/cases/conform.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

using cases::ConformCase;
using cases::ConformReport;
using Json = nlohmann::ordered_json;

struct ConformFlags {
  std::string file, only;
  bool json = false;
};

int64_t by_convention(const ConformReport& report) {
  return std::count_if(report.cases.begin(), report.cases.end(),
                       [](const ConformCase& c) { return c.passed() && !c.convention.empty(); });
}

void print_json(const ConformReport& report) {
  for (const ConformCase& c : report.cases) {
    if (c.passed()) continue;
    Json line{{"id", c.id},     {"op", c.op},      {"file", c.file},
              {"line", c.line}, {"passed", false}, {"run", c.differences.front().run}};
    for (const auto& difference : c.differences)
      line["differences"].push_back({{"what", difference.what}, {"message", difference.message}});
    std::cout << line.dump() << "\n";
  }
  const Json done{{"event", "done"},
                  {"passed", report.passed()},
                  {"failed", report.failed()},
                  {"by_convention", by_convention(report)}};
  std::cout << done.dump() << std::endl;
}

void print(const ConformReport& report) {
  for (const ConformCase& c : report.cases) {
    if (c.passed() && !c.convention.empty())
      std::cout << "ok    " << c.id << " differs by convention: " << c.convention << "\n";
    if (c.passed()) continue;
    std::cout << "FAIL  " << c.id << " (" << c.file << ":" << c.line << ") " << c.differences.front().run
              << "\n";
    for (const auto& difference : c.differences)
      std::cout << "      " << difference.what << ": " << difference.message << "\n";
  }
  std::cout << grouped(report.passed()) << " cases passed, " << by_convention(report)
            << " of them by convention; " << grouped(report.failed()) << " failed" << std::endl;
}

int conform(const ConformFlags& flags) {
  const ConformReport report = cases::conform(flags.file, flags.only);
  flags.json ? print_json(report) : print(report);
  return report.failed() == 0 ? kDone : kCheckFailed;
}

}  // namespace

Action add_conform(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<ConformFlags>();
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
  return {[flags] { return conform(*flags); }};
}

}  // namespace gradus::cli

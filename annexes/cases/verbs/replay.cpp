// gradus replay: compares a computation with the results of PyTorch.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "gradus/annexes/cases/replay.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

using cases::ReplayCheck;
using cases::ReplayReport;
using Json = nlohmann::ordered_json;

struct ReplayFlags {
  std::string file, only;
  bool json = false, quiet = false;
};

void print_json(const ReplayReport& report) {
  for (const ReplayCheck& c : report.checks) {
    const Json line{{"case", c.case_name},
                    {"step", c.step},
                    {"op", c.op},
                    {"out", c.out},
                    {"check", c.kind},
                    {"passed", c.passed},
                    {"worst", std::isfinite(c.worst) ? Json(c.worst) : Json(nullptr)},
                    {"message", c.message}};
    std::cout << line.dump() << "\n";
  }
  const Json done{{"event", "done"}, {"passed", report.passed()}, {"failed", report.failed()}};
  std::cout << done.dump() << std::endl;
}

/// Prints the verdict on a case, and its differences, those of the first step marked. Returns whether it
/// passed.
bool print_case(const std::string& name, std::span<const ReplayCheck> checks, bool quiet) {
  const auto failed =
      std::count_if(checks.begin(), checks.end(), [](const ReplayCheck& check) { return !check.passed; });
  if (failed == 0) {
    if (!quiet) std::cout << "ok    " << name << ": " << checks.size() << " checks passed\n";
    return true;
  }
  std::cout << "FAIL  " << name << ": " << static_cast<int64_t>(checks.size()) - failed << " checks passed, "
            << failed << " failed\n";
  const ReplayCheck* first = nullptr;
  for (const ReplayCheck& check : checks) {
    if (check.passed) continue;
    if (!first) first = &check;
    std::cout << (check.step == first->step ? "  >>  first difference: " : "      after it: ") << "steps["
              << check.step << "] " << check.op << " -> " << check.out << ", " << check.kind << ": "
              << check.message << "\n";
  }
  return false;
}

void print(const ReplayReport& report, bool quiet) {
  size_t begin = 0, passed = 0;
  for (const auto& [name, count] : report.cases) {
    passed += print_case(name, std::span(report.checks).subspan(begin, count), quiet) ? 1 : 0;
    begin += count;
  }
  std::cout << passed << " cases passed, " << report.cases.size() - passed << " failed; "
            << grouped(report.passed()) << " checks passed, " << grouped(report.failed()) << " failed"
            << std::endl;
}

int replay(const ReplayFlags& flags) {
  const ReplayReport report = cases::replay(flags.file, flags.only);
  if (report.checks.empty())
    fail("replay", flags.file, " must have something to check, got ", report.cases.size(),
         " cases whose steps have neither expected, value, text nor weights. Hint: annexes/cases/README.md "
         "describes the format.");
  flags.json ? print_json(report) : print(report, flags.quiet);
  return report.failed() == 0 ? kDone : kCheckFailed;
}

}  // namespace

Action add_replay(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<ReplayFlags>();
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
  return {[flags] { return replay(*flags); }};
}

}  // namespace gradus::cli

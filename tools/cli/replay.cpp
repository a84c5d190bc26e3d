// gradus replay: runs computations carried over from PyTorch, and says which step differs first.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "gradus/autograd/error.hpp"
#include "gradus/tools/replay/replay.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace gradus::cli {
namespace {

using tools::ReplayCheck;
using tools::ReplayReport;

struct ReplayFlags {
  std::string file, only;
  bool json = false, quiet = false;
};

nlohmann::ordered_json to_json(const ReplayCheck& check) {
  nlohmann::ordered_json line{{"case", check.case_name}, {"step", check.step},      {"op", check.op},
                              {"out", check.out},        {"check", check.kind},     {"passed", check.passed},
                              {"worst", nullptr},        {"message", check.message}};
  if (std::isfinite(check.worst)) line["worst"] = check.worst;
  return line;
}

void print_json(const ReplayReport& report) {
  for (const ReplayCheck& check : report.checks) std::cout << to_json(check).dump() << "\n";
  std::cout << nlohmann::ordered_json{{"event", "done"},
                                      {"passed", report.passed()},
                                      {"failed", report.failed()}}
                   .dump()
            << std::endl;
}

/// The verdict on one case; of a failed one also what differs, the first step before all others.
void print_case(const std::string& name, std::span<const ReplayCheck> checks, bool quiet) {
  const auto failed =
      std::count_if(checks.begin(), checks.end(), [](const auto& check) { return !check.passed; });
  if (failed == 0) {
    if (!quiet) std::cout << "ok    " << name << ": " << checks.size() << " checks passed\n";
    return;
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
}

void print(const ReplayReport& report, bool quiet) {
  int64_t failed_cases = 0;
  const std::span<const ReplayCheck> all(report.checks);
  size_t begin = 0;
  for (const auto& [name, count] : report.cases) {
    const auto checks = all.subspan(begin, count);
    begin += count;
    failed_cases +=
        std::all_of(checks.begin(), checks.end(), [](const auto& check) { return check.passed; }) ? 0 : 1;
    print_case(name, checks, quiet);
  }
  std::cout << report.cases.size() - static_cast<size_t>(failed_cases) << " cases passed, " << failed_cases
            << " failed; " << grouped(report.passed()) << " checks passed, " << grouped(report.failed())
            << " failed" << std::endl;
}

int replay(const ReplayFlags& flags) {
  const ReplayReport report = tools::replay(flags.file, flags.only);
  if (report.checks.empty())
    fail("replay", flags.file, " must have something to check, got ", report.cases.size(),
         " cases whose steps have neither expected, value, text nor weights. Hint: tools/replay/README.md "
         "tells "
         "how to write one.");
  if (flags.json)
    print_json(report);
  else
    print(report, flags.quiet);
  return report.failed() == 0 ? kDone : kCheckFailed;
}

}  // namespace

Verb add_replay(CLI::App& app, const std::string& program) {
  CLI::App* verb = app.add_subcommand("replay", "Run a computation carried over from PyTorch");
  auto flags = std::make_shared<ReplayFlags>();
  verb->add_option("file", flags->file, "What to run: a list of cases in JSON")
      ->type_name("FILE")
      ->required();
  verb->add_option("--case", flags->only, "Only the case of this name")->type_name("NAME")->take_last();
  verb->add_flag("--quiet", flags->quiet, "Only the cases that fail, and the last line");
  verb->add_flag("--json", flags->json, "A JSON line for each check on the standard output");
  verb->footer(
      concat("A case is a seed, named tensors, and steps with what PyTorch gave for each: expected or value "
             "(numbers\n"
             "within a tolerance), weights (bit for bit), text (character for character). The first step "
             "that differs\n"
             "stands before all others. Exits with 3 if one does. tools/replay/README.md tells how to write "
             "a file.\n\n"
             "Examples:\n  ",
             program, " replay tests/tools/replay/example.json\n  ", program,
             " replay mine.json --case attention --json"));
  return {verb, [flags] { return replay(*flags); }};
}

}  // namespace gradus::cli

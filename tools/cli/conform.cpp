// gradus conform: sets our ops beside PyTorch's answers, case by case.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gradus/autograd/error.hpp"
#include "gradus/tools/conform/conform.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace gradus::cli {
namespace {

using tools::ConformCase;
using tools::ConformReport;

struct ConformFlags {
  std::string where, op;
  bool json = false;
};

int64_t by_convention(const ConformReport& report) {
  return std::count_if(report.cases.begin(), report.cases.end(),
                       [](const ConformCase& c) { return c.passed() && !c.convention.empty(); });
}

void print_json(const ConformReport& report) {
  for (const ConformCase& c : report.cases) {
    if (c.passed()) continue;
    nlohmann::ordered_json line{{"id", c.id},     {"op", c.op},      {"file", c.file},
                                {"line", c.line}, {"passed", false}, {"run", c.differences.front().run}};
    for (const auto& difference : c.differences)
      line["differences"].push_back({{"what", difference.what}, {"message", difference.message}});
    std::cout << line.dump() << "\n";
  }
  std::cout << nlohmann::ordered_json{{"event", "done"},
                                      {"passed", report.passed()},
                                      {"failed", report.failed()},
                                      {"by_convention", by_convention(report)}}
                   .dump()
            << std::endl;
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
  const ConformReport report = tools::conform(flags.where, flags.op);
  if (flags.json)
    print_json(report);
  else
    print(report);
  return report.failed() == 0 ? kDone : kCheckFailed;
}

}  // namespace

Verb add_conform(CLI::App& app, const std::string& program) {
  CLI::App* verb = app.add_subcommand("conform", "Compare ops and their gradients with PyTorch's");
  auto flags = std::make_shared<ConformFlags>();
  verb->add_option("where", flags->where, "A file of cases, or a folder of *.jsonl")
      ->type_name("DIR|FILE")
      ->required();
  verb->add_option("--op", flags->op, "Only the cases of this op")->type_name("NAME")->take_last();
  verb->add_flag("--json", flags->json, "A JSON line a failing case, and one at the end");
  verb->footer(
      concat("A case has inputs, what PyTorch makes of them, its gradients, and theirs. Each\n"
             "runs in float64 on packed, transposed, stepped and expanded inputs, and in\n"
             "float32 beside float64. Where gradus differs on purpose it says so. Exits with\n"
             "3 if a case differs. tools/conform/README.md tells how to write a file.\n\n"
             "Examples:\n  ",
             program, " conform tests/tools/conform\n  ", program,
             " conform tests/tools/conform/opinfo.jsonl --op softmax"));
  return {verb, [flags] { return conform(*flags); }};
}

}  // namespace gradus::cli

// gradus gradcheck: compares the gradient of every op with differences of its values.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/gradcheck_cases.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace gradus::cli {
namespace {

struct GradcheckFlags {
  std::string op;
  bool all = false;
  int64_t order = 2, seed = 0;
  bool json = false;
};

/// All cases of one op together.
struct OpResult {
  std::string op;
  int64_t cases = 0, checks = 0;
  double worst = 0;  ///< error over what is allowed
  double seconds = 0;
  std::string message;  ///< of the first case that failed; empty if none did
};

void print(const OpResult& result, bool json) {
  if (json) {
    const nlohmann::ordered_json line{{"op", result.op},          {"passed", result.message.empty()},
                                      {"cases", result.cases},    {"checks", result.checks},
                                      {"worst", result.worst},    {"seconds", result.seconds},
                                      {"message", result.message}};
    std::cout << line.dump() << std::endl;
    return;
  }
  std::cout << (result.message.empty() ? "ok    " : "FAIL  ") << std::left << std::setw(30) << result.op
            << std::right << std::setw(6) << result.cases << std::setw(8) << result.checks << std::setw(12)
            << concat(std::setprecision(2), std::scientific, result.worst) << std::setw(9)
            << decimals(result.seconds, 3) << std::endl;
  if (!result.message.empty()) std::cout << "      " << result.message << std::endl;
}

OpResult check(const std::string& op, const std::vector<GradcheckCase>& cases, const GradcheckFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  OpResult result;
  result.op = op;
  for (const GradcheckCase& c : cases) {
    if (c.op != op) continue;
    const GradcheckReport report =
        run_gradcheck(c, static_cast<int>(flags.order), static_cast<uint64_t>(flags.seed));
    ++result.cases;
    result.checks += report.checks;
    result.worst = std::max(result.worst, report.worst);
    if (!report.passed && result.message.empty()) result.message = concat(c.name, ": ", report.message);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

int gradcheck(const GradcheckFlags& flags) {
  if (flags.order != 1 && flags.order != 2)
    fail("gradcheck", "--order must be 1 or 2, got ", flags.order, ".");
  if (flags.seed < 0) fail("gradcheck", "--seed must be a whole number of at least 0, got ", flags.seed, ".");
  if (flags.all && !flags.op.empty()) fail("gradcheck", "--op and --all must not come together, got both.");

  const std::vector<GradcheckCase> cases = gradcheck_cases();
  std::vector<std::string> ops;
  for (const GradcheckCase& c : cases)
    if ((flags.op.empty() || c.op == flags.op) && std::find(ops.begin(), ops.end(), c.op) == ops.end())
      ops.push_back(c.op);
  if (ops.empty())
    fail("gradcheck", "--op must be the name of an op, got '", flags.op,
         "'. Hint: gradcheck --all lists them.");

  if (!flags.json)
    std::cout << "      " << std::left << std::setw(30) << "op" << std::right << std::setw(6) << "cases"
              << std::setw(8) << "checks" << std::setw(12) << "worst" << std::setw(9) << "seconds"
              << std::endl;
  int64_t failed = 0, checks = 0;
  for (const std::string& op : ops) {
    const OpResult result = check(op, cases, flags);
    print(result, flags.json);
    failed += result.message.empty() ? 0 : 1;
    checks += result.checks;
  }
  const int64_t passed = static_cast<int64_t>(ops.size()) - failed;
  if (flags.json)
    std::cout << nlohmann::ordered_json{{"event", "done"},
                                        {"passed", passed},
                                        {"failed", failed},
                                        {"checks", checks}}
                     .dump()
              << std::endl;
  else
    std::cout << passed << " ops passed, " << failed << " failed; " << grouped(checks)
              << " comparisons; worst: error over what is allowed" << std::endl;
  return failed == 0 ? kDone : kCheckFailed;
}

}  // namespace

Verb add_gradcheck(CLI::App& app, const std::string& program) {
  CLI::App* verb = app.add_subcommand("gradcheck", "Compare gradients with finite differences");
  auto flags = std::make_shared<GradcheckFlags>();
  verb->add_option("--op", flags->op, "Only this op, e.g. softmax")->type_name("NAME")->take_last();
  verb->add_flag("--all", flags->all, "Every op; so it is without --op too");
  verb->add_option("--order", flags->order, "1: gradients; 2: also gradients of gradients")
      ->type_name("N")
      ->take_last()
      ->capture_default_str();
  verb->add_option("--seed", flags->seed, "Decides the directions that are tried")
      ->type_name("N")
      ->take_last()
      ->capture_default_str();
  verb->add_flag("--json", flags->json, "A JSON line for each op on the standard output");
  verb->footer(concat("Exits with 3 if a gradient is wrong.\n\nExamples:\n  ", program,
                      " gradcheck --all\n  ", program, " gradcheck --op softmax --order 2"));
  return {verb, [flags] { return gradcheck(*flags); }};
}

}  // namespace gradus::cli

// gradus gradcheck: compares gradients with finite differences.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"
#include "gradus/cli/program/annexes.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/nearest.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/cli/train/run_text.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/gradcheck_module.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::cli {
namespace {

using nlohmann::ordered_json;

struct GradcheckFlags {
  std::string op;
  bool all = false;
  std::string model, command, html;
  int64_t order = 2, seed = 0, timeout = 60;
  bool json = false;
};

/// The result of all cases of one op, or of one model.
struct Result {
  std::string name;
  int64_t cases = 0, checks = 0;
  double worst[2] = {0, 0};  ///< error over tolerance, at orders 1 and 2
  double gap = 0;            ///< largest of the dot-product test
  double rate = 0;           ///< of Taylor remainders, the one farthest from 4
  int64_t unwitnessed = 0;   ///< cases that differences judged alone,
  std::string why;           ///< and why the last of them
  double seconds = 0;
  bool passed = true;
  std::string message, cause;  ///< of the first case that failed; empty if none did
  ordered_json smallest;       ///< its smallest failing input; null if none was found
  ordered_json graphs;         ///< of each case, for --html

  void add(const std::string& what, const GradcheckReport& report) {
    ++cases;
    checks += report.checks;
    gap = std::max({gap, report.gaps[0], report.gaps[1]});
    if (report.rate > 0 && (rate == 0 || std::abs(report.rate - 4) > std::abs(rate - 4))) rate = report.rate;
    if (!report.unwitnessed.empty()) {
      ++unwitnessed;
      why = report.unwitnessed;
    }
    for (const GradcheckInput& input : report.inputs)
      worst[input.order - 1] = std::max(worst[input.order - 1], input.worst);
    if (report.passed || !passed) return;
    passed = false;
    message = what.empty() ? report.message : concat(what, ": ", report.message);
    cause = report.cause;
    for (const Tensor& x : report.smallest)
      smallest.push_back({{"shape", std::vector<int64_t>(x.shape().begin(), x.shape().end())},
                          {"values", x.to(DType::float64).to_vector<double>()}});
  }

  /// A function for GradcheckOptions::inspect, which adds a graph to the page; null without --html.
  std::function<void(const CheckedGraph&)> inspector(const GradcheckFlags& flags, const std::string& what) {
    if (flags.html.empty()) return nullptr;
    return [this, what](const CheckedGraph& graph) {
      ordered_json json = ordered_json::parse(graph_json(graph));
      json["case"] = what;
      graphs.push_back(std::move(json));
    };
  }
};

void write_page(const std::string& file, const Result& result) {
  const std::string title = "Gradient check of " + files::plain(result.name);
  const std::string page = annexes().graph_page(title, result.graphs.dump());
  files::write_atomically(file, [&](std::ostream& out) { out << page; });
}

std::string error_text(double error) { return concat(std::setprecision(2), std::scientific, error); }

/// Prints each result when it is known, and the sums at the end.
class Table {
 public:
  Table(const GradcheckFlags& flags, const std::string& subject) : flags_(flags), subject_(subject) {
    if (!flags.json) line("", subject, {"cases", "checks", "order 1", "order 2", "gap", "rate", "seconds"});
  }

  void print(const Result& r) {
    (r.passed ? passed_ : failed_) += 1;
    checks_ += r.checks;
    gap_ = std::max(gap_, r.gap);
    unwitnessed_ += r.unwitnessed;
    if (!flags_.html.empty()) write_page(flags_.html, r);
    if (flags_.json) {
      ordered_json line{{subject_, r.name},
                        {"passed", r.passed},
                        {"cases", r.cases},
                        {"checks", r.checks},
                        {"worst", std::max(r.worst[0], r.worst[1])},
                        {"worst_order_1", r.worst[0]},
                        {"worst_order_2", r.worst[1]},
                        {"gap", r.gap},
                        {"rate", r.rate},
                        {"unwitnessed", r.unwitnessed},
                        {"why", r.why},
                        {"seconds", r.seconds},
                        {"message", r.message},
                        {"cause", r.cause},
                        {"smallest", r.smallest}};
      if (!flags_.html.empty()) line["graphs"] = r.graphs;
      std::cout << json_line(line) << std::endl;
      return;
    }
    line(r.passed ? "ok" : "FAIL", r.name,
         {concat(r.cases), concat(r.checks), error_text(r.worst[0]), error_text(r.worst[1]),
          error_text(r.gap), r.rate > 0 ? decimals(r.rate, 3) : "-", decimals(r.seconds, 3)});
    if (r.unwitnessed > 0)
      std::cout << "      " << r.unwitnessed << " of them by differences alone: " << r.why << std::endl;
    if (!r.message.empty()) std::cout << "      " << r.message << std::endl;
    if (!flags_.html.empty()) Messages(false).line("wrote   " + shell_path(flags_.html));
  }

  int finish() const {
    const ordered_json done{{"event", "done"}, {"passed", passed_}, {"failed", failed_}, {"checks", checks_}};
    if (flags_.json)
      std::cout << json_line(done) << std::endl;
    else
      std::cout << passed_ << " passed, " << failed_ << " failed; " << grouped(checks_)
                << " comparisons; order 1 and 2: largest error over the tolerance; gap: at most "
                << error_text(gap_)
                << " between forward mode and the rules; rate: by how much half the step divides the error, "
                   "4 is right; "
                << unwitnessed_ << " cases without forward mode" << std::endl;
    return failed_ == 0 ? kDone : kCheckFailed;
  }

 private:
  void line(const char* state, const std::string& name, const std::vector<std::string>& cells) const {
    constexpr int kWidths[] = {6, 9, 11, 11, 11, 7, 9};
    std::cout << std::left << std::setw(6) << state << std::setw(30) << name << std::right;
    for (size_t i = 0; i < cells.size(); ++i)
      if (i != 3 || flags_.order == 2) std::cout << std::setw(kWidths[i]) << cells[i];
    std::cout << std::endl;
  }

  const GradcheckFlags& flags_;
  std::string subject_;
  int64_t passed_ = 0, failed_ = 0, checks_ = 0, unwitnessed_ = 0;
  double gap_ = 0;
};

/// Runs `body`, which fills in the result, and measures its time.
template <class Body>
Result timed(const std::string& name, const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  Result result;
  result.name = name;
  body(result);
  result.seconds = seconds_since(start);
  return result;
}

std::vector<std::string> ops_of(const std::vector<GradcheckCase>& cases) {
  std::vector<std::string> ops;
  for (const GradcheckCase& c : cases)
    if (std::ranges::find(ops, c.op) == ops.end()) ops.push_back(c.op);
  return ops;
}

std::vector<GradcheckCase> all_cases() {
  std::vector<GradcheckCase> cases = gradcheck_cases();
  if (annexes().gradcheck_cases) std::ranges::move(annexes().gradcheck_cases(), std::back_inserter(cases));
  return cases;
}

std::vector<std::string> op_names() { return ops_of(all_cases()); }

int check_ops(const GradcheckFlags& flags) {
  const std::vector<GradcheckCase> cases = all_cases();
  std::vector<std::string> ops = ops_of(cases);
  if (!flags.op.empty()) {
    if (std::ranges::find(ops, flags.op) == ops.end())
      fail("gradcheck", "--op must be the name of an op, got ", files::in_quotes(flags.op), ".",
           did_you_mean(flags.op, ops, "gradcheck --all lists them."));
    ops = {flags.op};
  }

  Table table(flags, "op");
  for (const std::string& op : ops)
    table.print(timed(op, [&](Result& result) {
      for (const GradcheckCase& c : cases)
        if (c.op == op)
          result.add(c.name,
                     run_gradcheck(c, static_cast<int>(flags.order), static_cast<uint64_t>(flags.seed),
                                   result.inspector(flags, c.name)));
    }));
  return table.finish();
}

/// Checks the loss of the model in a run folder, on the first tokens of the run's text, with respect to all
/// parameters. Throws Error if the folder or the text cannot be read.
GradcheckReport check_model(const std::string& folder, const GradcheckOptions& options) {
  const train::RunFolder run(folder);
  if (!run.has_run())
    fail("gradcheck", "--model must be the folder of one run of `train`, got ", run.path(),
         ", which has no train.json.");
  const auto [model, tokenizer] = train::load_trained(folder);
  const train::TrainConfig trained = train::load_config(run);
  const RunText text = load_text(trained, data::TextRules::of(tokenizer));
  const data::Tokens all = RunTokens(text, tokenizer, trained).all();
  const data::Tokens ids = all.part(0, std::min<int64_t>(all.size(), 4096));
  const int64_t tokens = std::min<int64_t>(model.config().block_size, 16);
  const data::TextDataset dataset(ids, tokens, 0.0);
  Generator generator(options.seed);
  const data::Batch batch = dataset.random_batch(data::Split::train, 2, generator);
  const auto loss = [&](const models::Decoder& m, const auto&) {
    Generator same(1);  // Dropout draws the same mask in each call.
    return m.loss(batch.x, batch.y, &same);
  };
  return nn::gradcheck_module<models::Decoder>(model, {}, loss, options);
}

int gradcheck(GradcheckFlags flags) {
  if (flags.order != 1 && flags.order != 2)
    fail("gradcheck", "--order must be 1 or 2, got ", flags.order, ".");
  const int subjects = (flags.all ? 1 : 0) + (flags.op.empty() ? 0 : 1) + (flags.model.empty() ? 0 : 1) +
                       (flags.command.empty() ? 0 : 1);
  if (subjects > 1)
    fail("gradcheck", "--op, --all, --model and --command must not come together, got ", subjects,
         " of them.");
  if (!flags.html.empty() && (subjects == 0 || flags.all))
    fail("gradcheck", "--html must come with --op, --model or --command, got none of them.");
  if (!flags.html.empty()) {
    if (!annexes().graph_page)
      fail("gradcheck", "--html needs a program with the annex pages, which this one was built without.");
    files::check_replaceable("gradcheck", "--html", flags.html, annexes().is_page);
  }
  if (!flags.command.empty() && !annexes().check_command)
    fail("gradcheck", "--command needs a program with the annex remote, which this one was built without.");
  // A model's parameters and another program's inputs keep their shapes.
  GradcheckOptions options{
      .order = static_cast<int>(flags.order), .shrinking = 0, .seed = static_cast<uint64_t>(flags.seed)};
  const bool is_model = !flags.model.empty();
  if (!is_model && flags.command.empty()) return check_ops(flags);
  const Result result = timed(flags.model, [&](Result& r) {
    options.inspect = r.inspector(flags, "");
    if (is_model) return r.add("", check_model(flags.model, options));
    const RemoteReport remote = annexes().check_command(flags.command, flags.timeout, options);
    r.name = remote.name;
    flags.order = remote.order;
    r.add("", remote.report);
  });
  Table table(flags, is_model ? "model" : "command");
  table.print(result);
  return table.finish();
}

}  // namespace

Action add_gradcheck(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<GradcheckFlags>();
  suggest(add_value(verb, "--op", flags->op, "NAME", "Check only this op, e.g. softmax"), op_names);
  verb.add_flag("--all", flags->all, "Check every op; this is the default");
  add_value(verb, "--model", flags->model, "DIR", "Check the loss of a trained model on the text of its run");
  add_value(verb, "--command", flags->command, "COMMAND",
            "Check the operation of another program, which answers\nquestions in JSON");
  add_value(verb, "--timeout", flags->timeout, "SECONDS", "Longest time for an answer of --command", kFrom1);
  add_value(verb, "--order", flags->order, "N", "1: gradients; 2: also gradients of gradients");
  add_value(verb, "--seed", flags->seed, "N", "Seed of the random directions", kFrom0);
  add_value(verb, "--html", flags->html, "FILE",
            "Write a page of the graph, with the value and the gradient at\neach operation (not with --all)");
  verb.add_flag("--json", flags->json, "Print a JSON line for each op; with --html, it has the graphs");
  verb.footer(with_program(
      R"(Exits with 3 if a gradient is wrong, with 1 if --command fails or answers in another form.
docs/operations-and-gradient-checks.md describes the answers.

Examples:
  $ gradcheck --all
  $ gradcheck --op softmax --order 2
  $ gradcheck --op layer_norm --html layer_norm.html
  $ gradcheck --model out/kjv-mini --order 1
  $ gradcheck --command 'python3 my_op.py')",
      program));
  return {[flags] { return gradcheck(*flags); }};
}

}  // namespace gradus::cli

// gradus sweep: trains each setting of a table with several seeds.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "gradus/annexes/pages/report/paired_difference.hpp"
#include "gradus/annexes/sweep/verbs/sweep/sweep_table.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/process.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/train/mpi/mpi.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

struct SweepFlags {
  std::string file, out;
  int64_t threads = 0;  ///< 0: not given
};

/// The results of a finished run.
struct SweepResult {
  double val_loss = 0, seconds = 0;
};
using Results = std::map<std::pair<std::string, int64_t>, SweepResult>;  // by setting and seed

/// results.jsonl: a line for each finished run, of this call or an earlier one. An incomplete last line is
/// ignored. Throws Error with file and line for any other line that is not a result.
class ResultsFile {
 public:
  explicit ResultsFile(fs::path file) : file_(std::move(file)) {
    if (!fs::exists(file_)) return;
    std::istringstream lines(files::read(file_));
    int64_t number = 0;
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      const files::Json entry(line, "sweep", concat(file_.string(), ":", ++number));
      const files::Field run = entry.root();
      results_[{std::string(run.at("setting").text()), run.at("seed").integer(0, kMostCount)}] = {
          run.at("val_loss").number(), run.at("seconds").number()};
      lines_ += line + "\n";
    }
  }

  const Results& results() const { return results_; }

  void add(const SweptRun& run, const SweepResult& result) {
    results_[{run.setting, run.seed}] = result;
    lines_ += nlohmann::ordered_json{{"setting", run.setting},
                                     {"seed", run.seed},
                                     {"val_loss", result.val_loss},
                                     {"seconds", result.seconds},
                                     {"flags", run.flags}}
                  .dump() +
              "\n";
    files::write_atomically(file_, [&](std::ostream& out) { out << lines_; });
  }

 private:
  fs::path file_;
  std::string lines_;
  Results results_;
};

fs::path folder_of(const SweptRun& run, const SweepFlags& flags) {
  return fs::path(flags.out) / run.folder();
}

/// table.json: the flags with which each run of the folder began. Throws Error if a run that has begun has
/// other flags now, so that all results belong to one table.
void remember_flags(const std::vector<SweptRun>& runs, const Results& results, const SweepFlags& flags) {
  const fs::path file = fs::path(flags.out) / "table.json";
  nlohmann::ordered_json begun = nlohmann::ordered_json::object();
  if (fs::exists(file)) {
    const files::Json json(files::read(file), "sweep", file.string());
    for (const auto& [folder, run_flags] : json.root().members())
      begun[std::string(folder)] = run_flags.texts();
  }
  for (const SweptRun& run : runs) {
    const bool is_there = results.contains({run.setting, run.seed}) || fs::exists(folder_of(run, flags));
    if (is_there && begun.contains(run.folder()) && begun.at(run.folder()) != run.flags)
      fail("sweep", "the flags of ", run.setting, ", seed ", run.seed, ", must stay ",
           begun.at(run.folder()).dump(), ", with which it began, got ", nlohmann::json(run.flags).dump(),
           ". Hint: use another --out, or another name for the setting.");
    begun[run.folder()] = run.flags;
  }
  files::write_atomically(file, [&](std::ostream& out) { out << begun.dump(1) << "\n"; });
}

/// A number in a line of JSON that `gradus train` wrote; none if the line is incomplete or has no such
/// number.
std::optional<double> number_in(std::string_view line, const char* key) {
  try {
    const files::Json json(line, "sweep", "a line of gradus train");
    return json.root().at(key).number();
  } catch (const Error&) {
    return {};
  }
}

/// The output of a command, and its exit code; 127 if it cannot be started.
std::pair<std::string, int> output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw RunError("[sweep] the system must grant a pipe, got: ", std::strerror(errno), ".");
  const int none = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  Process process("sweep", command, {.own_group = false, .in = none, .out = ends[1]});
  ::close(none);
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR);)
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  return {text, process.wait().code};
}

/// Trains a run, or resumes it. Throws RunError if it does not end with a validation loss.
SweepResult train(const SweptRun& run, const SweepFlags& flags) {
  const fs::path folder = folder_of(run, flags);
  std::vector<std::string> words{this_program(), "train"};
  if (fs::exists(folder / "last") || fs::exists(folder / "members.json")) {
    words.emplace_back("--resume");
  } else {
    words.insert(words.end(), run.flags.begin(), run.flags.end());
    words.insert(words.end(), {"--overwrite", "--seed", std::to_string(run.seed)});
  }
  if (flags.threads > 0) words.insert(words.end(), {"--threads", std::to_string(flags.threads)});
  words.insert(words.end(), {"--out", folder.string(), "--json", "--quiet"});
  const auto [text, code] = output_of(words);
  const size_t last = text.size() < 2 ? std::string::npos : text.rfind('\n', text.size() - 2);
  const std::string done = text.substr(last == std::string::npos ? 0 : last + 1);
  const auto val_loss = number_in(done, "val_loss");
  if (code != 0 || !val_loss)
    throw RunError("[sweep] `gradus train` must end with a validation loss, got exit code ", code, " for ",
                   run.setting, ", seed ", run.seed, ". Finished runs are kept.");
  double seconds = number_in(done, "seconds").value_or(0);
  std::ifstream log(folder / "metrics.jsonl");  // includes the time before a stop
  for (std::string line; std::getline(log, line);)
    seconds = std::max(seconds, number_in(line, "elapsed_s").value_or(0));
  return {*val_loss, seconds};
}

/// "1.6730 +- 0.0041": the mean, and its standard error if there are several values.
std::string mean_of(const std::vector<double>& values, int digits) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  return decimals(sum / n, digits) +
         (values.size() > 1 ? " +- " + decimals(std::sqrt(squares / (n - 1) / n), digits) : "");
}

/// "0.012", or "<0.001".
std::string p_text(double p) { return p < 0.001 ? "<0.001" : decimals(p, 3); }

/// The columns that compare a setting with the first: the difference of losses, its p, and the seeds that a
/// difference of kSmall needs. Empty for fewer than two common seeds.
std::vector<std::string> comparison(const std::map<int64_t, double>& first,
                                    const std::map<int64_t, double>& losses) {
  constexpr double kSmall = 0.005;
  std::vector<double> a, b;
  for (const auto& [seed, loss] : losses)
    if (const auto same = first.find(seed); same != first.end()) {
      a.push_back(same->second);
      b.push_back(loss);
    }
  if (a.size() < 2 || &first == &losses) return {"", "", ""};
  const pages::PairedDifference d = pages::paired_difference(a, b);
  return {concat(d.mean < 0 ? "" : "+", decimals(d.mean, 4), " +- ", decimals(d.error, 4)), p_text(d.p),
          std::to_string(d.seeds_for(kSmall))};
}

void print_table(const std::vector<SweptRun>& runs, const Results& results) {
  std::vector<TableRow> rows{
      {"setting", "seeds", "val loss", "seconds", "to the first", "p", "seeds for 0.005"}};
  std::map<std::string, std::map<int64_t, double>> losses;  // by setting and seed
  for (const SweptRun& one : runs)
    losses[one.setting][one.seed] = results.at({one.setting, one.seed}).val_loss;
  for (const SweptRun& run : runs) {
    if (rows.back()[0] == run.setting) continue;
    std::vector<double> all, seconds;
    for (const auto& [seed, loss] : losses[run.setting]) {
      all.push_back(loss);
      seconds.push_back(results.at({run.setting, seed}).seconds);
    }
    rows.push_back({run.setting, std::to_string(all.size()), mean_of(all, 4), mean_of(seconds, 1)});
    for (const std::string& cell : comparison(losses[runs[0].setting], losses[run.setting]))
      rows.back().push_back(cell);
  }
  std::cout << "\n" << table(rows, {1, 5, 6}) << std::flush;
}

int sweep(const SweepFlags& flags) {
  if (mpi::is_launched()) fail("sweep", "must be one process, got a launcher of MPI.");
  const std::vector<SweptRun> runs = read_sweep_table(flags.file);
  fs::create_directories(flags.out);
  ResultsFile file(fs::path(flags.out) / "results.jsonl");
  remember_flags(runs, file.results(), flags);
  for (const SweptRun& run : runs) {
    if (file.results().contains({run.setting, run.seed})) continue;
    const SweepResult result = train(run, flags);
    file.add(run, result);
    std::cout << run.setting << ", seed " << run.seed << ": " << decimals(result.val_loss, 4) << " in "
              << duration(result.seconds) << std::endl;
  }
  print_table(runs, file.results());
  return kDone;
}

}  // namespace

Action add_sweep(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<SweepFlags>();
  add_argument(verb, "file", flags->file, "FILE",
               "TOML: seeds, [base] and [try.NAME], with flags of train as keys");
  add_value(verb, "--out", flags->out, "DIR", "Folder of the runs, and of results.jsonl")->required();
  add_value(verb, "--threads", flags->threads, "N", "Threads of each run [one per core]", kThreads);
  verb.footer(with_program(R"(  seeds = [1, 2, 3]
  [base]
  preset = "nano"
  steps = 1000
  [try.adamw]
  lr = [1e-3, 3e-3]           # a list: one setting for each value
  [try.muon]
  optimizer = "muon"
  lr = 1e-2

Finished runs are not repeated, and stopped runs are resumed. A run whose flags differ
from those in table.json is an error. The errors of the losses are standard errors of
the mean over seeds. Each setting is compared with the first by the differences of
runs with the same seed: p is that of Student's t-test of pairs, and the last column
the number of seeds with which a difference of 0.005 would have p < 0.05 four times in
five. Losses of settings with different tokenizers cannot be compared.

Examples:
  $ sweep table.toml --out out/sweep)",
                           program));
  return {[flags] { return sweep(*flags); }};
}

}  // namespace gradus::cli

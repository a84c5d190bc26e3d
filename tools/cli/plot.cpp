// gradus plot: draws the losses of runs.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/pages/report/report.hpp"
#include "gradus/tools/plots/loss_plot.hpp"
#include "gradus/tools/plots/svg.hpp"

namespace gradus::cli {
namespace {

struct PlotFlags {
  std::vector<std::string> runs;
  std::string out, by = "minutes";
  bool log = false, overwrite = false, quiet = false;
};

std::vector<std::string> units() { return {"minutes", "steps"}; }

/// The runs, named by their folders, or by paths if folders have the same name.
std::vector<plots::LossCurve> read_runs(const std::vector<pages::LoggedRun>& logs) {
  std::vector<plots::LossCurve> runs;
  std::map<std::string, int> count;
  for (const pages::LoggedRun& log : logs) {
    runs.push_back(plots::read_losses(log));
    ++count[runs.back().name];
  }
  for (size_t i = 0; i < runs.size(); ++i)
    if (count[runs[i].name] > 1) runs[i].name = files::plain(logs[i].path().string());
  return runs;
}

// -- the logs of runs as CSV (RFC 4180, with LF), for spreadsheets and data frames

constexpr std::array kNumbers = {"step", "elapsed_s", "loss", "val_loss", "lr", "grad_norm", "tokens_per_s"};

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"") == text.npos) return text;
  std::string quoted;
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return "\"" + quoted + "\"";
}

/// The shortest text that is read back as the same number; a whole number without an exponent.
std::string digits(double value) {
  if (value == std::trunc(value) && std::fabs(value) < 0x1p53) return concat(static_cast<int64_t>(value));
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.begin(), buffer.end(), value).ptr};
}

/// The first line of a table: the names of the columns.
std::string csv_header() {
  std::string line = "run,event";
  for (const char* name : kNumbers) line += concat(",", name);
  return line + "\n";
}

/// A line for each step, then for each evaluation of a run. Numbers keep all digits; a value that a record
/// lacks is empty.
std::string csv_rows(const std::string& name, const pages::LoggedRun& run) {
  std::string rows;
  const auto add = [&](const char* event, const pages::Columns& columns) {
    const size_t count = columns.empty() ? 0 : columns.at("step").size();
    for (size_t i = 0; i < count; ++i) {
      rows += concat(quoted(name), ",", event);
      for (const char* key : kNumbers) {
        const auto values = columns.find(key);
        rows +=
            "," + (values == columns.end() || std::isnan(values->second[i]) ? "" : digits(values->second[i]));
      }
      rows += "\n";
    }
  };
  add("step", run.steps());
  add("eval", run.evaluations());
  return rows;
}

// -- the verb

constexpr int kFewestRows = 10, kMostRows = 24;  // of a chart
constexpr const char* kOverwrite = "--overwrite replaces it.";

std::string csv(const std::vector<pages::LoggedRun>& logs) {
  const std::vector<plots::LossCurve> runs = read_runs(logs);
  std::string text = csv_header();
  for (size_t i = 0; i < logs.size(); ++i) text += csv_rows(runs[i].name, logs[i]);
  return text;
}

int plot(const PlotFlags& flags) {
  check_choice("plot", "--by", flags.by, units());
  const plots::LossPlotOptions options{.by_steps = flags.by == "steps", .logarithmic = flags.log};
  if (flags.out.empty()) {
    if (flags.quiet || flags.overwrite)
      fail("plot", flags.quiet ? "--quiet" : "--overwrite", " must come with --out, got no --out.");
    const std::vector<pages::LoggedRun> logs = pages::runs_of({flags.runs.begin(), flags.runs.end()});
    const Terminal terminal = standard_output();
    const int rows = std::clamp(terminal.rows - static_cast<int>(logs.size()) - 4, kFewestRows, kMostRows);
    const std::string text =
        plots::loss_chart(read_runs(logs), options, {terminal.columns, rows, terminal.colour});
    // std::cout escapes the colours on a terminal. The names of the runs are plain.
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
      std::cout.setstate(std::ios::badbit);
    return kDone;
  }
  const std::filesystem::path type = std::filesystem::path(flags.out).extension();
  if (type != ".svg" && type != ".csv") fail("plot", "--out must end in .svg or .csv, got ", flags.out, ".");
  if (type == ".svg")
    plots::check_picture_file("plot", "--out", flags.out, flags.overwrite ? "" : kOverwrite);
  else if (!flags.overwrite)
    files::check_replaceable(
        "plot", "--out", flags.out, [](std::string_view text) { return text.starts_with(csv_header()); },
        kOverwrite);
  const std::vector<pages::LoggedRun> logs = pages::runs_of({flags.runs.begin(), flags.runs.end()});
  const std::string text = type == ".svg" ? plots::loss_plot(read_runs(logs), options) : csv(logs);
  files::write_atomically(flags.out, [&](std::ostream& out) { out << text; });
  Messages(flags.quiet).line("wrote   " + shell_path(flags.out));
  return kDone;
}

}  // namespace

Action add_plot(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<PlotFlags>();
  add_argument(verb, "run", flags->runs, "FROM",
               "Run folders, folders of sweeps or ensembles, or logs (metrics.jsonl)");
  add_value(verb, "--out", flags->out, "FILE",
            "Picture to write, FILE.svg, or table, FILE.csv; an earlier one is\nreplaced "
            "[draw in the terminal]");
  choices(add_value(verb, "--by", flags->by, "NAME", "The horizontal axis"), units)->capture_default_str();
  verb.add_flag("--log", flags->log, "Make the horizontal axis logarithmic");
  verb.add_flag("--overwrite", flags->overwrite, "Replace any file at --out");
  verb.add_flag("--quiet", flags->quiet, "Print errors only");
  verb.footer(with_program(
      R"(Lines with dots are validation losses, and thin lines are training losses. In a terminal,
each run has a mark at its validation losses. The table has a line for each step and each
evaluation. A run need not be finished. The log of another program needs a line for each evaluation:
  {"event":"eval","step":200,"val_loss":1.9,"elapsed_s":12.5}

Examples:
  $ plot out/kjv-mini
  $ plot out/kjv-mini --out loss.svg
  $ plot out/kjv-mini --out loss.csv
  $ plot out/sweep --by steps --out sweep.svg)",
      program));
  return {[flags] { return plot(*flags); }};
}

}  // namespace gradus::cli

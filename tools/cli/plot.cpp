// gradus plot: draws the losses of runs.
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
std::vector<plots::LossCurve> read_runs(const std::vector<std::string>& paths) {
  std::vector<plots::LossCurve> runs;
  std::map<std::string, int> count;
  for (const std::string& path : paths) {
    runs.push_back(plots::read_losses(path));
    ++count[runs.back().name];
  }
  for (size_t i = 0; i < runs.size(); ++i)
    if (count[runs[i].name] > 1) runs[i].name = files::plain(paths[i]);
  return runs;
}

int plot(const PlotFlags& flags) {
  check_choice("plot", "--by", flags.by, units());
  plots::check_picture_file("plot", "--out", flags.out, flags.overwrite ? "" : "--overwrite replaces it.");
  const std::string svg =
      plots::loss_plot(read_runs(flags.runs), {.by_steps = flags.by == "steps", .logarithmic = flags.log});
  files::write_atomically(flags.out, [&](std::ostream& out) { out << svg; });
  Messages(flags.quiet).line("wrote   " + shell_path(flags.out));
  return kDone;
}

}  // namespace

Action add_plot(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<PlotFlags>();
  add_argument(verb, "run", flags->runs, "FROM", "Run folders, or their metrics.jsonl");
  add_value(verb, "--out", flags->out, "FILE", "Picture to write, FILE.svg; an earlier one is replaced")
      ->required();
  choices(add_value(verb, "--by", flags->by, "NAME", "The horizontal axis"), units)->capture_default_str();
  verb.add_flag("--log", flags->log, "Make the horizontal axis logarithmic");
  verb.add_flag("--overwrite", flags->overwrite, "Replace any file at --out");
  verb.add_flag("--quiet", flags->quiet, "Print errors only");
  verb.footer(with_program(
      R"(Lines with dots are validation losses, and thin lines are training losses. A run need not
be finished. The log of another program needs a line for each evaluation:
  {"event":"eval","step":200,"val_loss":1.9,"elapsed_s":12.5}

Examples:
  $ plot out/kjv-mini --out loss.svg
  $ plot out/sweep/*/ --by steps --out sweep.svg)",
      program));
  return {[flags] { return plot(*flags); }};
}

}  // namespace gradus::cli

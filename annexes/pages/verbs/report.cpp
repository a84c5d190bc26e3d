// gradus report: writes a page about runs.
#include "gradus/annexes/pages/report/report.hpp"

#include <iostream>
#include <memory>

#include "gradus/annexes/pages/frame.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

struct ReportFlags {
  std::vector<std::string> runs;
  std::string out = "report.html";
  bool json = false, quiet = false;
};

int report(const ReportFlags& flags) {
  const std::vector<pages::LoggedRun> runs = pages::runs_of({flags.runs.begin(), flags.runs.end()});
  const std::string json = pages::report_json(runs);
  if (flags.json) {
    std::cout << json << std::endl;
    return kDone;
  }
  if (fs::path(flags.out).extension() != ".html")
    fail("report", "--out must be FILE.html, got '", flags.out, "'.");
  files::check_replaceable("report", "--out", flags.out, pages::is_page_of("report"));
  files::write_atomically(
      flags.out, [&](std::ostream& out) { out << pages::report_html(pages::report_title(runs), json); });
  Messages(flags.quiet).line("wrote   " + shell_path(flags.out));
  return kDone;
}

}  // namespace

Action add_report(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<ReportFlags>();
  add_argument(verb, "run", flags->runs, "FROM",
               "Run folders, folders of sweeps or ensembles, or logs (metrics.jsonl)");
  CLI::Option* const out =
      add_value(verb, "--out", flags->out, "FILE", "Page to write, FILE.html; an earlier one is replaced");
  verb.add_flag("--json", flags->json, "Print what the page shows as one JSON object instead")->excludes(out);
  verb.add_flag("--quiet", flags->quiet, "Print errors only");
  verb.footer(with_program(
      R"(The page is one file that needs no network: losses by step, tokens and time, learning rate,
gradient norm, speed, the norms and updates of each layer, the gradient noise scale, samples
and settings. Several runs are laid over one another; runs that differ in their seeds only
are one line with a band, and are compared by paired differences. `train` writes the page of
its run, report.html, when it begins, after each evaluation and at the end; until then the
page reloads itself.

Examples:
  $ report out/kjv-mini --out kjv.html
  $ report out/sweep --out sweep.html        all runs of a sweep
  $ report out/four --json                   the members of an ensemble, as JSON)",
      program));
  return {[flags] { return report(*flags); }};
}

}  // namespace gradus::cli

// gradus watch: serves the page of runs on the loopback address.
#include <iostream>
#include <memory>

#include "gradus/files/error.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/cli/watch/server.hpp"
#include "gradus/tools/pages/report/report.hpp"

namespace gradus::cli {
namespace {

struct WatchFlags {
  std::vector<std::string> runs;
  int64_t port = 6180;
};

int watch(const WatchFlags& flags) {
  Server server(pages::runs_of({flags.runs.begin(), flags.runs.end()}), flags.port);
  std::cout << server.url() << "  (Ctrl-C ends)" << std::endl;
  server.serve();
  return kDone;
}

}  // namespace

Action add_watch(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<WatchFlags>();
  add_argument(verb, "run", flags->runs, "FROM", "Run folders, or folders of sweeps or ensembles");
  add_value(verb, "--port", flags->port, "N", "Port of 127.0.0.1; 0 takes a free one", {0, 65535})
      ->capture_default_str();
  verb.footer(with_program(
      R"(Prints the address of the page of `report`, which then follows the runs: it changes within two
seconds. Only programs on this machine reach it. From another one: ssh -L 6180:127.0.0.1:6180.
/metrics has the newest values for Prometheus (OpenMetrics), /data.json what the page shows.

Examples:
  $ watch out/kjv-mini
  $ watch out/sweep --port 8000)",
      program));
  return {[flags] { return watch(*flags); }};
}

}  // namespace gradus::cli

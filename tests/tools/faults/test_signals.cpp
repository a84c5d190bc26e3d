// Signals that come at the worst of times: while a run saves.
#include <signal.h>

#include "catch.hpp"
#include "scenario.hpp"
#include "tracer.hpp"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// Sends the signals, each as the run begins another fsync of its second step. Returns the end of the run.
Traced interrupt(const Scenario& scenario, std::vector<int> signals) {
  scenario.set_up();
  int lines = 0;
  return trace(scenario.arguments(), {.before = [&](const SystemCall& call) {
                 lines += call.name == "write" && call.path.ends_with("metrics.jsonl");
                 if (lines >= 3 && call.name == "fsync" && !signals.empty()) {
                   ::kill(call.process, signals.front());
                   signals.erase(signals.begin());
                 }
                 return Verdict{};
               }});
}

}  // namespace

TEST_CASE("a second signal ends a run at once, but a terminal that closes may say so twice") {
  if (!can_trace()) {
    WARN("programs cannot be traced here (ptrace)");
    SUCCEED();
    return;
  }
  const Scenario scenario(Scenario::start);
  const auto stopped_and_saved = [](const Traced& traced, int code) {
    INFO(traced.err);
    CHECK(traced.code == code);
    CHECK(traced.signal == 0);
  };
  const auto saved_step = [&] {
    const std::string state = cli::read(scenario.out() / "last/trainer.json");
    const size_t at = state.find("\"step\": ");
    return at == std::string::npos ? '?' : state[at + 8];
  };
  for (const auto& [signals, code] :
       std::vector<std::pair<std::vector<int>, int>>{{{SIGTERM}, 143},
                                                     {{SIGINT}, 130},
                                                     {{SIGHUP}, 129},
                                                     {{SIGHUP, SIGHUP, SIGHUP}, 129},
                                                     {{SIGHUP, SIGTERM}, 129},
                                                     {{SIGTERM, SIGHUP}, 143}}) {
    stopped_and_saved(interrupt(scenario, signals), code);
    CHECK(saved_step() == '2');
    CHECK(scenario.recover(true) == "");
  }
  for (const auto& [signals, code] : std::vector<std::pair<std::vector<int>, int>>{
           {{SIGTERM, SIGTERM}, 143}, {{SIGINT, SIGTERM}, 143}, {{SIGHUP, SIGTERM, SIGINT}, 130}}) {
    stopped_and_saved(interrupt(scenario, signals), code);
    CHECK(saved_step() == '1');
    CHECK(scenario.recover(true) == "");
  }
}

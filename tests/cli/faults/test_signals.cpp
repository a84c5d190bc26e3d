// Signals that come at the worst of times: while a run saves.
#include <signal.h>
#include <unistd.h>

#include "gradus/train/run_folder/run_folder.hpp"
#include "scenario.hpp"

namespace gradus::test_signals {

using namespace gradus::testing;

/// In the log when the run saves after its second step: the start, four lines of the first, one of that.
constexpr int kLinesBefore = 6;

/// Sends the signals, each at another fsync of the second step, `pause` apart. Returns the end of the run.
Traced interrupt(const Scenario& scenario, std::vector<int> signals, std::chrono::milliseconds pause = {}) {
  int lines = 0;
  bool sent = false;
  return scenario.run([&](const SystemCall& call) {
    lines += call.name == "write" && call.path.ends_with("metrics.jsonl");
    if (lines >= kLinesBefore && call.name == "fsync" && !signals.empty()) {
      if (sent) std::this_thread::sleep_for(pause);
      ::kill(call.process, signals.front());
      signals.erase(signals.begin());
      sent = true;
    }
    return Verdict{};
  });
}

/// How a run ended to which SIGTERM came so late, and again at once, as from timeout(1); -1 if killed.
int terminate(const std::vector<std::string>& arguments, std::chrono::microseconds after) {
  const auto send = [after] {
    const pid_t run = ::getpid();
    if (::fork() != 0) return;
    for (const auto pause : {after, std::chrono::microseconds(100)}) {
      std::this_thread::sleep_for(pause);
      ::kill(run, SIGTERM);
    }
    ::_exit(0);
  };
  try {
    return cli::run_program(arguments, {.in_child = send}).code;
  } catch (const std::runtime_error&) {
    return -1;
  }
}

/// Terminates so many runs, from before they begin to where they have saved many times.
void terminate_at_random(int runs) {
  const cli::Scratch scratch;
  const std::string out = scratch.path("run"), log = out + "/metrics.jsonl";
  const std::vector<std::string> start = cli::args(
      "train --preset tiny --layers 1 --heads 1 --embd 4 --block 4 --batch 2 --warmup 0 --steps 1000000 "
      "--eval-every 1000000 --save-every 20 --keep 1 --threads 1 --quiet --overwrite --text",
      scratch.file("text.txt", train::small_text()), "--out", out);
  const auto check_saved = [&](int code) {
    INFO("exit code " << code);
    const auto steps = std::ranges::count_if(cli::lines_of(cli::read(log)), [](const std::string& line) {
      return line.starts_with(R"({"event":"step")");
    });
    train::RunFolder folder(out);
    if (code == 143 || folder.has_last()) {
      CHECK(folder.verify_files().empty());
      const int64_t saved = folder.load_last().trainer.step;
      CHECK((code == 143 ? saved == steps : saved <= steps));
      if (code == 143) CHECK(std::filesystem::exists(out + "/kept/step-" + std::to_string(saved)));
    }
    // Ended by its second signal a second later, or before it had taken over the signals.
    if (code != 143) CHECK((code == 4 || (code == -1 && steps == 0)));
  };

  const cli::Outcome once = cli::run_program(cli::args(start, "--json"),
                                             {.on_line = [lines = 0](const std::string&, int run) mutable {
                                               if (++lines == 30) ::kill(run, SIGTERM);
                                             }});
  CHECK(once.code == 143);
  check_saved(once.code);

  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(cli::run_program(cli::args(start, "--stop-after 100")).code == 0);
  const auto longest = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin);

  std::mt19937 random(8);
  std::map<int, int> ends;
  for (int i = 0; i < runs; ++i) {
    std::filesystem::remove_all(out);
    const std::chrono::microseconds after(
        static_cast<int64_t>(longest.count() * std::uniform_real_distribution()(random)));
    const int code = terminate(start, after);
    INFO("terminated after " << after.count() << " microseconds: " << code);
    ++ends[code];
    check_saved(code);
  }
  std::cout << "terminated " << runs << " runs: " << ends[143] << " saved, " << ends[4] << " had not saved, "
            << ends[-1] << " had not begun\n";
}

TEST_CASE("a signal that comes twice at once counts once, and one a second later ends a run as it is") {
  if (cannot_trace()) return;
  const Scenario scenario(Scenario::start);
  const auto ended = [](const Traced& traced, int code) {
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
                                                     {{SIGTERM, SIGTERM}, 143},
                                                     {{SIGINT, SIGTERM, SIGINT}, 130},
                                                     {{SIGHUP, SIGTERM, SIGINT}, 129},
                                                     {{SIGTERM, SIGHUP}, 143}}) {
    ended(interrupt(scenario, signals), code);
    CHECK(saved_step() == '2');
    CHECK(scenario.recover(true) == "");
  }
  for (const std::vector<int>& signals :
       std::vector<std::vector<int>>{{SIGTERM, SIGTERM}, {SIGINT, SIGTERM}, {SIGHUP, SIGTERM, SIGINT}}) {
    ended(interrupt(scenario, signals, std::chrono::milliseconds(1100)), 4);
    CHECK(saved_step() == '1');
    CHECK(scenario.recover(true) == "");
  }
}

TEST_CASE(
    "a signal that comes before the first step ends a run, and its exit code says that nothing is saved") {
  if (cannot_trace()) return;
  const Scenario scenario(Scenario::start);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const Traced traced = scenario.run([&](const SystemCall& call) {
      if (call.name == "open" && call.path.ends_with("text.txt")) ::kill(call.process, signal);
      return Verdict{};
    });
    CHECK(traced.signal == 0);
    CHECK(traced.code == 4);
    CHECK(traced.err == "gradus: stopped before there was anything to save\n");
  }
}

TEST_CASE("a run that is terminated has saved if its exit code says so") { terminate_at_random(20); }

TEST_CASE("a run can be terminated at 300 moments", "[soak]") { terminate_at_random(300); }

}  // namespace gradus::test_signals

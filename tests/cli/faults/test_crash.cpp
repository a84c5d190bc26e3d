// Runs are killed, and their system calls made to fail, one after another: whatever comes, the folder holds
// something to go on from or to begin anew in, and the run that goes on ends with the bits of one that was
// never disturbed. The soak takes every call; the others a sample.
#include <signal.h>

#include "gradus/files/folder.hpp"
#include "scenario.hpp"

namespace gradus::test_crash {

using namespace gradus::testing;

constexpr Scenario::Kind kScenarios[] = {Scenario::start, Scenario::resume, Scenario::overwrite};

/// Is it about the folder of the run, or one above it?
bool is_of_run(const Scenario& scenario, const SystemCall& call) {
  return !call.name.empty() && call.path.starts_with(scenario.root().string());
}

/// How many calls `counts` finds in a run that nothing happens to.
int count_calls(const Scenario& scenario, const std::function<bool(const SystemCall&)>& counts) {
  int calls = 0;
  const Traced traced = scenario.run([&](const SystemCall& call) {
    calls += counts(call);
    return Verdict{};
  });
  INFO(traced.err);
  CHECK(traced.code == 0);
  CHECK(scenario.is_finished());
  return calls;
}

/// Runs the scenario with a verdict on its call `at`, counted from 0. `what` is left as it is if that call
/// does not come: those that have nothing to do with files are not always the same.
Traced run_with(const Scenario& scenario, int at, Verdict verdict,
                const std::function<bool(const SystemCall&)>& counts, std::string* what = nullptr) {
  int calls = 0;
  return scenario.run([&](const SystemCall& call) {
    if (!counts(call) || calls++ != at) return Verdict{};
    if (what) *what = call.name + " " + call.path;
    return verdict;
  });
}

/// Kills at every `stride`-th call that `counts`, from `first` on.
int kill_at_each(const Scenario& scenario, const std::function<bool(const SystemCall&)>& counts, int first,
                 int stride) {
  const int calls = count_calls(scenario, counts);
  CHECK(calls > 30);
  int kills = 0;
  for (int at = first % stride; at < calls; at += stride, ++kills) {
    std::string what;
    const Traced traced = run_with(scenario, at, {.kind = Verdict::kill}, counts, &what);
    INFO(scenario.name() << ", killed at call " << at << ": " << what);
    CHECK((traced.signal == SIGKILL || (what.empty() && at + 20 > calls)));
    CHECK(scenario.recover(scenario.kind() == Scenario::resume) == "");
  }
  return kills;
}

constexpr Verdict kErrors[] = {{Verdict::fail, EIO},
                               {Verdict::fail, ENOSPC},
                               {Verdict::fail, EACCES},
                               {Verdict::fail, EINTR},
                               {Verdict::shorten, 0}};

/// Gives every `stride`-th call about the folder each of kErrors, each of them to other calls.
int spoil_each(const Scenario& scenario, int stride) {
  const auto counts = [&](const SystemCall& call) { return is_of_run(scenario, call); };
  const int calls = count_calls(scenario, counts);
  int spoilt = 0;
  for (int i = 0; i < static_cast<int>(std::size(kErrors)); ++i)
    for (int at = i * stride / 5; at < calls; at += stride) {
      const Verdict verdict = kErrors[i];
      ++spoilt;
      std::string what;
      const Traced traced = run_with(scenario, at, verdict, counts, &what);
      INFO(scenario.name() << ", call " << at << ": " << what << ", verdict " << verdict.kind << ", errno "
                           << verdict.reason << "\n"
                           << traced.err);
      CHECK(traced.signal == 0);
      if (traced.code == 0) {
        CHECK(scenario.is_finished());
      } else {
        CHECK((traced.code == 1 || traced.code == 2));
        CHECK(cli::lines_of(traced.err).size() == 1);
        CHECK(traced.err.starts_with("gradus: "));
      }
      CHECK(scenario.recover(scenario.kind() == Scenario::resume) == "");
    }
  return spoilt;
}

TEST_CASE("a run that is killed as it changes a file, or whose calls fail, can be resumed or begun anew") {
  if (cannot_trace()) return;
  for (const auto kind : kScenarios) {
    const Scenario scenario(kind);
    const auto counts = [&](const SystemCall& call) {
      return is_of_run(scenario, call) && changes_files(call);
    };
    kill_at_each(scenario, counts, 3, 97);
    spoil_each(scenario, 701);
  }
}

TEST_CASE("a run that is killed between its first best model and its first state is begun anew") {
  if (cannot_trace()) return;
  const Scenario scenario(Scenario::start);
  const auto counts = [&](const SystemCall& call) {
    return is_of_run(scenario, call) && changes_files(call) &&
           std::filesystem::exists(scenario.out() / "model.safetensors") &&
           !std::filesystem::exists(scenario.out() / "last");
  };
  kill_at_each(scenario, counts, 0, 4);
}

/// Kills the run that goes on at every `stride`-th change.
void check_staged_list(int stride) {
  const Scenario scenario(Scenario::resume);
  const std::string model = (scenario.out() / "model.safetensors").string(),
                    list = (scenario.out() / files::kChecksumList).string();
  // The best model is in its place, and its list is not.
  const auto cut_off = [&](Verdict verdict) {
    bool has_model = false;
    const Traced traced = scenario.run([&](const SystemCall& call) {
      if (call.name == "rename" && call.to == model) has_model = true;
      return has_model && call.to == list ? verdict : Verdict{};
    });
    CHECK((traced.code != 0 || traced.signal == SIGKILL));
  };
  cut_off({Verdict::fail, EIO});
  CHECK(scenario.recover(true) == "");
  int kills = 0;
  for (bool killed = true; killed; kills += stride) {
    cut_off({Verdict::kill});
    int calls = 0;
    bool is_current = false;  // From then on it is a folder like any other.
    killed = trace(scenario.arguments(), {.before = [&](const SystemCall& call) -> Verdict {
                     if (is_current || !is_of_run(scenario, call) || !changes_files(call)) return {};
                     is_current = call.name == "rename" && call.to == list;
                     return {calls++ == kills ? Verdict::kill : Verdict::go_on};
                   }})
                 .signal == SIGKILL;
    INFO("killed again, at the change " << kills);
    CHECK(scenario.recover(true) == "");
  }
  CHECK(kills > 10);
}

TEST_CASE("where the list of checksums cannot be replaced, the one that is staged stays, also after a kill") {
  if (!cannot_trace()) check_staged_list(5);
}

/// Lets every `stride`-th line of the log fail.
void check_log_fails(int stride) {
  const Scenario scenario(Scenario::start);
  constexpr int kLines = 3 * 4 + 1;                  // step, layers, eval and sample; done
  for (int at = 0; at < 1 + kLines; at += stride) {  // the first is that of the start
    const auto counts = [](const SystemCall& call) {
      return call.name == "write" && call.path.ends_with("metrics.jsonl");
    };
    const Traced traced = run_with(scenario, at, {Verdict::fail, ENOSPC}, counts);
    INFO("line " << at << "\n" << traced.err);
    CHECK(traced.code == 1);
    CHECK(scenario.recover(true) == "");
    const std::string log = cli::read(scenario.out() / "metrics.jsonl");
    CHECK(std::ranges::count_if(cli::lines_of(log), [](const std::string& line) {
            return !line.starts_with(R"({"event":"start")");
          }) == kLines);
  }
}

TEST_CASE("a run whose log fails at a line goes on to the same end") {
  if (!cannot_trace()) check_log_fails(5);
}

/// Lets each call that `counts` fail, which the run must survive. Returns how many there were.
int finish_without(const Scenario& scenario, int reason,
                   const std::function<bool(const SystemCall&)>& counts) {
  int calls = 0;
  const Traced traced = scenario.run([&](const SystemCall& call) -> Verdict {
    if (!counts(call)) return {};
    ++calls;
    return {Verdict::fail, reason};
  });
  CHECK(traced.code == 0);
  CHECK(scenario.is_finished());
  return calls;
}

TEST_CASE("where a file cannot have two names, states are kept as copies") {
  if (cannot_trace()) return;
  const Scenario scenario(Scenario::start);
  CHECK(finish_without(scenario, EPERM, [](const SystemCall& call) { return call.name == "link"; }) == 27);
  CHECK(cli::contents(scenario.out() / "kept/step-3").size() == 9);
}

/// Lets exchanges fail, and kills at every `stride`-th call that follows the first one; at none too.
void check_without_exchange(int stride) {
  const Scenario scenario(Scenario::resume);
  for (int at = -1; at < 6; at += stride) {  // -1: at none
    int since = -1;
    const Traced traced = scenario.run([&](const SystemCall& call) -> Verdict {
      if (call.name == "exchange") {
        since = std::max(since, 0);
        return {Verdict::fail, EINVAL};
      }
      if (since < 0 || !changes_files(call)) return {};
      return {since++ == at ? Verdict::kill : Verdict::go_on};
    });
    INFO("killed at call " << at << " after the exchange\n" << traced.err);
    CHECK(traced.signal == (at < 0 ? 0 : SIGKILL));
    if (at < 0) CHECK(scenario.is_finished());
    CHECK(scenario.recover(true) == "");
  }
}

TEST_CASE("where two names cannot be exchanged at once, a run renames them one after the other") {
  if (!cannot_trace()) check_without_exchange(3);
}

TEST_CASE("a run goes on where the file system has no locks") {
  if (cannot_trace()) return;
  const Scenario scenario(Scenario::start);
  const auto asks = [](const SystemCall& call) {
    return call.name == "fcntl" && call.path.ends_with("/.lock");
  };
  for (const int reason : {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL}) {
    INFO(std::strerror(reason));
    CHECK(finish_without(scenario, reason, asks) == 1);
  }
}

TEST_CASE("a run can be killed at every system call", "[soak]") {
  REQUIRE(can_trace());
  int kills = 0;
  for (const auto kind : kScenarios)
    kills += kill_at_each(
        Scenario(kind), [](const SystemCall&) { return true; }, 0, 1);
  std::cout << "killed at " << kills << " system calls\n";
}

TEST_CASE("what fails may fail at each place", "[soak]") {
  REQUIRE(can_trace());
  check_staged_list(1);
  check_log_fails(1);
  check_without_exchange(1);
}

TEST_CASE("every call about the folder of a run may fail", "[soak]") {
  REQUIRE(can_trace());
  int spoilt = 0;
  for (const auto kind : kScenarios) spoilt += spoil_each(Scenario(kind), 1);
  std::cout << "spoilt " << spoilt << " calls\n";
}

}  // namespace gradus::test_crash

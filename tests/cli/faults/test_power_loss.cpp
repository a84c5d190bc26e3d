// A run, and the power cut before and after each of its fsyncs: any part of what was not synced may be there.
#include "disk.hpp"
#include "scenario.hpp"

namespace gradus::test_power_loss {

using namespace gradus::testing;

namespace fs = std::filesystem;

/// Is this the call that makes a first state last?
class FirstSave {
 public:
  explicit FirstSave(const Scenario& scenario) : run_(scenario.out().string()) {}
  void follow(const SystemCall& call) {
    if (call.result < 0) return;
    if (call.name == "rename" && call.to == run_ + "/last") named_ = true;
    if (call.name == "fsync" && call.path == run_ && named_) done_ = true;
  }
  bool done() const { return done_; }

 private:
  std::string run_;
  bool named_ = false, done_ = false;
};

/// Cuts the power around each fsync, at one in `stride` of all possible disks. Returns how many were tried.
int cut_power(Scenario::Kind kind, int first, int stride) {
  const Scenario scenario(kind);
  std::vector<SystemCall> calls;
  scenario.set_up();
  Disk disk(scenario.root());
  const Traced traced = trace(scenario.arguments(), {.after = [&](const SystemCall& call) {
                                if (call.path.starts_with(scenario.root().string())) calls.push_back(call);
                              }});
  REQUIRE(traced.code == 0);

  int seen = first, tried = 0;
  FirstSave saved(scenario);
  const auto cut = [&](size_t at) {
    for (size_t changes = 0; changes <= disk.unsynced_changes(); ++changes)
      for (const bool with_bytes : {false, true}) {
        if (seen++ % stride != 0) continue;
        fs::remove_all(scenario.root());
        disk.write_to(scenario.root(), changes, with_bytes);
        INFO(scenario.name() << ", power cut at call " << at << ", " << calls[at].name << " "
                             << calls[at].path << ", with " << changes << " of " << disk.unsynced_changes()
                             << " changes of names" << (with_bytes ? " and all bytes" : ""));
        CHECK(scenario.recover(kind == Scenario::resume || saved.done()) == "");
        ++tried;
      }
  };
  for (size_t at = 0; at < calls.size(); ++at) {
    const bool is_sync = calls[at].name == "fsync";
    if (is_sync) cut(at);
    disk.follow(calls[at]);
    saved.follow(calls[at]);
    if (is_sync) cut(at);
  }
  // The model of the disk has followed: all of it is there.
  fs::remove_all(scenario.root());
  disk.write_to(scenario.root(), disk.unsynced_changes(), true);
  CHECK(scenario.is_finished());
  return tried;
}

TEST_CASE("what a run has saved survives a power cut") {
  if (cannot_trace()) return;
  int first = 0;
  for (const auto kind : {Scenario::start, Scenario::overwrite}) CHECK(cut_power(kind, first += 29, 251) > 1);
}

TEST_CASE("the power may be cut around every fsync", "[soak]") {
  REQUIRE(can_trace());
  int tried = 0;
  for (const auto kind : {Scenario::start, Scenario::resume, Scenario::overwrite})
    tried += cut_power(kind, 0, 1);
  std::cout << "cut the power " << tried << " times\n";
}

}  // namespace gradus::test_power_loss

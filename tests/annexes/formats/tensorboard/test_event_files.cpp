#include "gradus/annexes/formats/tensorboard/event_files.hpp"

#include <sys/resource.h>

#include <csignal>
#include <ctime>

#include "annexes/formats/tensorboard/event_file.hpp"
#include "catch.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "temporary_folder.hpp"

namespace gradus::tensorboard::test_event_files {

using namespace gradus::train;

namespace fs = std::filesystem;

fs::path only_file(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  return files[0];
}

struct Counter : Observer {
  int steps = 0, evals = 0, before = 0;
  bool stop = false;
  void on_step(const StepReport&) override { ++steps; }
  void before_eval() override { ++before; }
  void on_eval(const EvalReport&) override { ++evals; }
  bool should_stop() override { return stop; }
};

TEST_CASE("the checksum of the reader is CRC-32C") {
  CHECK(crc32c("123456789") == 0xE3069283);              // the check value of the catalogue of CRCs
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AA);    // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43);  // the same
}

TEST_CASE("an event file has the numbers of the reports, for TensorBoard's reader of TFRecords") {
  const testing::TemporaryFolder scratch;
  Counter next;
  EventFileObserver observer(scratch / "run/tensorboard", 0, next);
  const double before = static_cast<double>(std::time(nullptr));
  observer.on_step({.step = 1, .loss = 4.25, .lr = 1e-3, .grad_norm = 0.1, .seconds = 0.5, .tokens = 64});
  observer.before_eval();
  observer.on_eval({.step = 1, .val_loss = 4.125});
  observer.on_step(
      {.step = 300'000'000'000, .loss = 1, .lr = 0, .grad_norm = 1e30, .seconds = 2, .tokens = 1});
  observer.finish();
  CHECK((next.steps == 2 && next.before == 1 && next.evals == 1));
  CHECK_FALSE(observer.should_stop());
  next.stop = true;
  CHECK(observer.should_stop());

  const fs::path file = only_file(scratch / "run/tensorboard");
  CHECK(file.filename().string().starts_with("events.out.tfevents.1"));
  const std::vector<ReadEvent> events = EventReader::read(files::read(file));
  REQUIRE(events.size() == 5);
  CHECK(events[0].file_version == "brain.Event:2");
  CHECK((events[1].session_status == 1 && events[1].step == 0));
  CHECK(events[2].step == 1);
  CHECK(events[2].scalars == std::map<std::string, float>{{"train/loss", 4.25F},
                                                          {"train/lr", 1e-3F},
                                                          {"train/grad_norm", 0.1F},
                                                          {"train/tokens_per_s", 128.F}});
  CHECK((events[3].step == 1 && events[3].scalars == std::map<std::string, float>{{"val/loss", 4.125F}}));
  CHECK((events[4].step == 300'000'000'000 && events[4].scalars.at("train/grad_norm") == 1e30F));
  for (const ReadEvent& event : events) {
    CHECK(event.wall_time >= before - 1);
    CHECK(event.wall_time <= static_cast<double>(std::time(nullptr)) + 2);  // its clock is behind by a tick
  }
}

TEST_CASE("a resumed run tells TensorBoard to drop the steps that it makes again") {
  const testing::TemporaryFolder scratch;
  Observer nobody;
  EventFileObserver(scratch.path(), 120, nobody).on_step({.step = 121, .seconds = 1});
  const std::vector<ReadEvent> events = EventReader::read(files::read(only_file(scratch.path())));
  REQUIRE(events.size() == 3);
  CHECK((events[1].session_status == 1 && events[1].step == 121));
  CHECK(events[2].step == 121);
}

TEST_CASE("a run whose event file cannot be written is stopped, and then fails") {
  const testing::TemporaryFolder scratch;
  Observer nobody;
  EventFileObserver observer(scratch.path(), 0, nobody);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit none{.rlim_cur = 10, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  observer.on_step({.step = 1, .seconds = 1});
  observer.on_step({.step = 2, .seconds = 1});
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(observer.should_stop());
  CHECK_THROWS_AS(observer.finish(), RunError);
}

}  // namespace gradus::tensorboard::test_event_files

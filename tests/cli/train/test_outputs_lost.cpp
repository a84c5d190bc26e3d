// Runs whose surroundings go away: the terminal, the reader of the output, the room on the disk, the folder.
#include <signal.h>
#include <unistd.h>

#include "cli/program.hpp"
#include "gradus/train/run_folder/run_folder.hpp"
#include "machine.hpp"

namespace gradus::cli::test_outputs_lost {

using Catch::Matchers::StartsWith;

/// A short run, as a script of the shell.
struct ShortRun {
  Scratch scratch;
  std::string out = scratch.path("run");
  std::string command =
      "\"$GRADUS\" train --preset tiny --layers 1 --heads 1 --embd 4 --block 8 --batch 2 "
      "--steps 60 --warmup 0 --eval-every 20 --save-every 20 --text '" +
      scratch.text() + "' --out '" + out + "' ";

  int64_t saved_step() const { return train::RunFolder(out).load_last().trainer.step; }
};

TEST_CASE("a run goes on when the reader of its output has gone, and says so once") {
  const ShortRun run;
  const std::string code = run.scratch.path("code");
  // More than a pipe takes that nobody reads.
  const std::string many = "--json --quiet --steps 2000 --eval-every 1000 --save-every 1000";
  const Outcome outcome = run_shell("{ " + run.command + many + "; echo $? >'" + code + "'; } | head -1");
  CHECK(lines_of(outcome.out).size() == 1);
  CHECK(outcome.err == "note: the standard output is gone (Broken pipe); the run continues without it\n");
  CHECK(read(code) == "0\n");
  CHECK(run.saved_step() == 2000);
  // And without the other output, or both.
  run_shell("{ " + run.command + "--overwrite 2>&1 >/dev/null; echo $? >'" + code + "'; } | head -1");
  CHECK(read(code) == "0\n");
  CHECK(run.saved_step() == 60);
}

TEST_CASE("an output that cannot be written fails the run at its end, when all is saved") {
  if (!testing::machine_has("/dev/full")) return;
  const ShortRun run;
  const Outcome outcome = run_shell(run.command + "--json --quiet >/dev/full");
  CHECK(outcome.code == 1);
  const std::vector<std::string> lines = lines_of(outcome.err);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], StartsWith("note: the standard output is gone (No space left on device)"));
  CHECK_HAS(lines[1], "the standard output must be writable");
  CHECK(run.saved_step() == 60);
  // A closed stream is not a file that the run opens.
  CHECK(run_shell(run.command + "--json --quiet --overwrite >&-").code == 1);
  CHECK_HAS(run_shell(run.command + "--overwrite --text - <&-").err,
            "the standard input must be readable, got");
}

TEST_CASE("signals that a run was told to ignore stay ignored, as nohup needs it") {
  const ShortRun run;
  const auto send = [](const std::string&, int process) {
    for (const int signal : {SIGHUP, SIGTERM}) ::kill(process, signal);
  };
  const Outcome outcome =
      run_shell("trap '' HUP TERM; exec " + run.command + "--json --quiet", {.on_line = send});
  CHECK(outcome.code == 0);
  CHECK(run.saved_step() == 60);
}

TEST_CASE("a limit on the size of files is a message, and what was saved stays") {
  const ShortRun run;
  const Outcome outcome = run_shell("ulimit -f 6; exec " + run.command + "--quiet");
  CHECK(outcome.code == 1);
  REQUIRE(lines_of(outcome.err).size() == 1);
  CHECK_HAS(outcome.err, "File too large");

  // A log that can grow no more takes nothing of the run with it.
  REQUIRE(run_shell(run.command + "--quiet --overwrite --stop-after 30").code == 0);
  const std::string log = run.out + "/metrics.jsonl";
  std::string lines = read(log);
  while (lines.size() < 60'000) lines += "{\"event\":\"step\",\"step\":30}\n";
  run.scratch.file("run/metrics.jsonl", lines);
  const std::string limit = std::to_string(read(log).size() / 512 + 1);
  const Outcome full = run_shell("ulimit -f " + limit + "; exec " + run.command + "--quiet --resume");
  CHECK(full.code == 1);
  CHECK_HAS(full.err, "metrics.jsonl");
  CHECK(run.saved_step() > 30);
  // What it lacks is there once there is room, and once only, however often the run goes on from there.
  const std::string state = run.scratch.path("state");
  std::filesystem::copy(run.out + "/last", state);
  REQUIRE(
      run_shell(run.command + "--quiet --resume --stop-after " + std::to_string(run.saved_step() + 1)).code ==
      0);
  std::filesystem::remove_all(run.out + "/last");
  std::filesystem::rename(state, run.out + "/last");
  REQUIRE(run_shell(run.command + "--quiet --resume").code == 0);
  const std::string log_text = read(log);
  for (int step = 1; step <= 60; ++step)
    for (const std::string& event : {std::string("step"), std::string("eval")}) {
      const std::string record = "{\"event\":\"" + event + "\",\"step\":" + std::to_string(step) + ",";
      INFO(record);
      const size_t first = log_text.find(record);
      CHECK((first != log_text.npos) == (event == "step" || step % 20 == 0));
      CHECK((first == log_text.npos || log_text.find(record, first + 1) == log_text.npos));
    }
}

TEST_CASE("a folder that is removed while a run trains there fails the run") {
  const ShortRun run;
  const auto remove = [&](const std::string& line, int) {
    if (line.find("\"step\":30,") == std::string::npos) return;
    // The run may be writing just now.
    for (std::error_code error; std::filesystem::exists(run.out);)
      std::filesystem::remove_all(run.out, error);
  };
  // The program is ahead of its reader by what the pipe holds, some forty lines: far from the end.
  const Outcome outcome =
      run_shell("exec " + run.command + "--json --quiet --steps 600", {.on_line = remove});
  CHECK(outcome.code == 1);
  CHECK(lines_of(outcome.err).size() == 1);
  CHECK_HAS(outcome.err, run.out);
  CHECK_FALSE(std::filesystem::exists(run.out));
}

TEST_CASE("a state that cannot go on is not saved") {
  const ShortRun run;
  const Outcome outcome =
      run_shell("exec " + run.command + "--quiet --lr 1e39 --save-every 1 --eval-every 1000");
  CHECK(outcome.code == 1);
  CHECK_HAS(outcome.err, "must stay finite", "after step 1");
  CHECK_FALSE(std::filesystem::exists(run.out + "/model.safetensors"));
  CHECK_FALSE(train::RunFolder(run.out).has_last());
}

TEST_CASE("what a run leaves that was killed at its first write is no run") {
  const ShortRun run;
  std::filesystem::create_directory(run.out);
  for (const char* name : {".lock", "train.json.tmp", "vocab.json.tmp", "checksums.sfv.tmp"})
    run.scratch.file(std::string("run/") + name, "{\"pre");
  CHECK(run_shell("exec " + run.command + "--quiet --stop-after 1").code == 0);
  CHECK(run.saved_step() == 1);
}

}  // namespace gradus::cli::test_outputs_lost

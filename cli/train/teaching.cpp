#include "gradus/cli/train/teaching.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/process.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/cli/train/members.hpp"
#include "gradus/cli/train/prepare_run.hpp"
#include "gradus/cli/train/run_planner.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/interrupt.hpp"
#include "gradus/train/run_folder/run_folder.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kTeachersSeed = 1000;  // from the seed of the learner

fs::path plan_file(const TrainFlags& flags) { return run_path(flags) / train::RunFolder::kTeachersPlan; }
fs::path teachers_folder(const TrainFlags& flags) { return run_path(flags) / train::RunFolder::kTeachers; }

/// Whether a folder has something that --resume continues.
bool can_resume(const fs::path& folder) { return train::RunFolder(folder).has_last() || has_plan(folder); }

TaughtRun read_taught(const fs::path& path) {
  const std::string file = path.string();
  const files::Json json(files::read(file), "train", file);
  const files::Field root = json.root();
  return {root.at("teachers").texts(), root.at("learner").texts(),
          root.at("members").integer(1, kMostThreads), root.at("minutes").number()};
}

void write_taught(const fs::path& file, const TaughtRun& run) {
  const nlohmann::ordered_json json{{"teachers", run.teachers},
                                    {"learner", run.learner},
                                    {"members", run.members},
                                    {"minutes", run.minutes}};
  files::make_folders(file.parent_path());
  files::write_atomically(file, [&](std::ostream& out) { out << json.dump(1) << "\n"; });
}

/// Runs `gradus train` with these words, and the flags that concern the output. Passes signals on.
int run_part(const TrainFlags& flags, std::vector<std::string> words, const fs::path& folder, int out,
             const train::Interrupt& interrupt) {
  words.insert(words.begin(), {this_program(), "train"});
  words.push_back(concat("--threads=", num_threads()));
  words.push_back(concat("--out=", folder.string()));
  if (flags.sample_every > 0) words.push_back(concat("--sample-every=", flags.sample_every));
  if (flags.quiet) words.emplace_back("--quiet");
  if (flags.tensorboard) words.emplace_back("--tensorboard");
  Process process("train", words, {.end_signal = SIGTERM, .out = out});
  int sent = 0;
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
    if (interrupt.signal() != 0 && sent == 0) process.send(sent = interrupt.signal());
    if (const std::optional<Ending> ending = process.poll()) return ending->code;
  }
}

}  // namespace

std::optional<TaughtRun> taught_run(const TrainFlags& flags, int64_t members, Clock::time_point start) {
  if (flags.resume) {
    if (!fs::exists(plan_file(flags)) || is_ensemble(run_path(flags))) return {};
    // A learner that was killed before its first state begins anew, if the plan is of this run.
    const train::RunFolder run(run_path(flags));
    if (run.has_run() && !(run.has_only_begun() && fs::weakly_canonical(train::load_config(run).teacher) ==
                                                       fs::weakly_canonical(teachers_folder(flags))))
      return {};
    return read_taught(plan_file(flags));
  }
  if (members == 1) return {};
  members = std::max<int64_t>(1, members);
  const train::Teaching teaching = planned_teaching(flags, members, start);
  if (teaching.teachers == 0) return {};
  const double minutes = flags.config.minutes - seconds_since(start) / 60;
  TaughtRun run{.teachers = setting_words(flags, {"seed", "minutes"}),
                .learner = setting_words(flags, {"minutes", "tokenizer", "vocab", "chat-tokens"}),
                .members = members,
                .minutes = (1 - teaching.share) * minutes};
  // With other seeds than those of the learner, so that no model begins as its teacher does.
  run.teachers.push_back(concat("--seed=", (flags.config.seed + kTeachersSeed) % kMostCount));
  run.teachers.push_back(concat("--members=", teaching.teachers));
  run.teachers.push_back(minutes_word(teaching.share * minutes));
  return run;
}

int train_taught(const TrainFlags& flags, const TaughtRun& run, Clock::time_point start,
                 const std::string& program) {
  const Messages messages(flags.quiet);
  const fs::path folder = run_path(flags), teachers = teachers_folder(flags);
  train::RunFolder own(folder);
  if (!flags.resume) {
    if (can_resume(teachers) && !flags.overwrite)
      fail("train", "--out must be new, got ", folder,
           ", which has teachers. Hint: --resume continues the run, --overwrite replaces it.");
    check_replaceable(flags, run.members);
  }
  own.make_and_lock();
  if (!flags.resume) {
    if (flags.overwrite) clear_runs(own);
    write_taught(plan_file(flags), run);
  }
  const train::Interrupt interrupt;
  std::vector<std::string> words =
      flags.resume && can_resume(teachers) ? std::vector<std::string>{"--resume"} : run.teachers;
  // The standard output is for the sample of the learner.
  int code = run_part(flags, words, teachers, STDERR_FILENO, interrupt);
  const bool is_bad_input = code != kDone && !flags.resume && !can_resume(teachers);
  if (is_bad_input) fs::remove(plan_file(flags));
  own.unlock(/*removes_empty=*/is_bad_input);
  if (is_bad_input) return code;
  if (code == kDone) {  // The learner has the lock from here on.
    messages.line(concat("\nlearner ", run.members > 1 ? "the members learn" : "one model learns",
                         " from the text and from the teachers in ", teachers.string()));
    words = run.learner;
    words.push_back(concat("--members=", run.members));
    const double left = flags.config.minutes - seconds_since(start) / 60;  // after teachers that came late
    words.push_back(minutes_word(flags.resume ? run.minutes : std::max(run.minutes / 2, left)));
    words.push_back(concat("--teacher=", teachers.string()));
    if (flags.json) words.emplace_back("--json");
    code = run_part(flags, words, folder, -1, interrupt);
  }
  if (code != kDone && !train::RunFolder(folder).has_run() && !is_ensemble(folder))
    messages.line(concat("the teachers or their learner are not finished; continue with: ", program,
                         " train --out ", shell_path(folder.string()), " --resume"));
  return code;
}

}  // namespace gradus::cli

#include "gradus/cli/train/teaching.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gradus/cli/program/flags.hpp"
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
#include "gradus/files/utf8.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/run_folder/run_folder.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kTeachersSeed = 1000;  // from the seed of the learner

fs::path plan_file(const TrainFlags& flags) { return run_path(flags) / train::RunFolder::kTeachersPlan; }
fs::path teachers_folder(const TrainFlags& flags) { return run_path(flags) / train::RunFolder::kTeachers; }

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

}  // namespace

std::optional<TaughtRun> taught_run(const TrainFlags& flags, int64_t members, Clock::time_point start) {
  if (flags.resume) {
    if (!fs::exists(plan_file(flags)) || is_ensemble(run_path(flags))) return {};
    // A learner that was killed before its first state begins anew, if the plan is of this run.
    const train::RunFolder run(run_path(flags));
    if (run.has_run() && !(run.has_only_begun() && fs::weakly_canonical(train::load_config(run).teacher) ==
                                                       fs::weakly_canonical(teachers_folder(flags))))
      return {};
    const TaughtRun begun = read_taught(plan_file(flags));
    check_parts(flags, "teachers");
    check_resumed_parts(flags, begun.members, plan_file(flags));
    return begun;
  }
  if (members == 1 || !may_have_teachers(flags)) return {};
  members = std::max<int64_t>(1, members);
  train::TrainConfig config = flags.config;
  const RunTokens tokens = read_tokens(flags, config);
  const train::Teaching teaching = plan_teaching(flags, config, tokens, members, start);
  if (teaching.teachers == 0) return {};
  if (const std::string out = run_path(flags).string(); !files::is_utf8(out))
    fail("train", "--out must be UTF-8 in a run that has teachers, got ", fs::path(out), ".");
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
                 const std::string& program, train::Interrupt& interrupt) {
  const Messages messages(flags.quiet);
  const fs::path folder = run_path(flags), teachers = teachers_folder(flags);
  train::RunFolder own(folder);
  if (!flags.resume) check_replaceable(flags, run.members);
  own.make_and_lock();
  interrupt.wait_for_save();
  if (!flags.resume) {
    if (flags.overwrite) clear_runs(own);
    write_taught(plan_file(flags), run);
  }
  const auto run_part = [&](std::optional<Part> part) {
    if (flags.sample_every > 0) part->words.push_back(concat("--sample-every=", flags.sample_every));
    return run_parts(flags, 1, interrupt, [&](bool) { return std::exchange(part, std::nullopt); });
  };
  Part teaching{run.teachers, teachers, "each part must finish, got the teachers"};
  teaching.out = STDERR_FILENO;  // The standard output is for the sample of the learner.
  if (flags.resume && train::RunFolder(teachers).can_resume()) teaching.words = {"--resume"};
  int code = run_part(teaching);
  own.unlock();  // The learner has the lock from here on.
  if (code == kDone) {
    messages.line(concat("\nlearner ", run.members > 1 ? "the members learn" : "one model learns",
                         " from the text and from the teachers in ", teachers.string()));
    Part learner{run.learner, folder, "each part must finish, got the learner"};
    const double left = flags.config.minutes - seconds_since(start) / 60;  // after teachers that came late
    learner.words.push_back(minutes_word(flags.resume ? run.minutes : std::max(run.minutes / 2, left)));
    learner.words.push_back(concat("--members=", run.members));
    learner.words.push_back(concat("--teacher=", teachers.string()));
    if (flags.json) learner.words.emplace_back("--json");
    code = run_part(learner);
  }
  if (code != kDone && !train::RunFolder(folder).has_run() && !is_ensemble(folder))
    messages.line(concat("the teachers or their learner are not finished; continue with: ", program,
                         " train --out ", shell_path(folder.string()), " --resume"));
  return code;
}

}  // namespace gradus::cli

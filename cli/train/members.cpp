#include "gradus/cli/train/members.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <thread>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/process.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/cli/train/prepare_run.hpp"
#include "gradus/cli/train/run_planner.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/mpi/mpi.hpp"
#include "gradus/train/run_folder/state_files.hpp"
#include "gradus/train/trainer/metrics.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

constexpr double kMembersShare = 0.97;  // of --minutes; the rest is for the evaluation of the ensemble
constexpr const char *kPlan = train::RunFolder::kMembersPlan, *kMembers = "members";

/// The plan: the number of members, the seed of the first, and the words with which each begins.
struct Plan {
  int64_t members = 0, seed = 0;
  std::vector<std::string> words;
};

Plan read_plan(const fs::path& folder) {
  const std::string file = (folder / kPlan).string();
  const files::Json json(files::read(file), "train", file);
  const files::Field root = json.root();
  return {root.at("members").integer(1, kMostThreads), root.at("seed").integer(0, kMostCount),
          root.at("flags").texts()};
}

/// Adds a folder, and those of its members and teachers; links to other folders to `links`.
void add_runs(const fs::path& folder, std::vector<fs::path>& all, std::vector<fs::path>& links) {
  all.push_back(folder);
  const auto add = [&](const fs::path& part) {
    if (!fs::is_directory(part)) return false;
    if (!fs::is_symlink(part)) return true;
    links.push_back(part);
    return false;
  };
  if (const fs::path teachers = folder / train::RunFolder::kTeachers; add(teachers))
    add_runs(teachers, all, links);
  if (!add(folder / kMembers)) return;
  for (const auto& member : fs::directory_iterator(folder / kMembers))
    if (add(member.path())) add_runs(member.path(), all, links);
}

/// Throws Error for a folder in which no ensemble can be trained.
void check_folder(const TrainFlags& flags) {
  const fs::path folder = run_path(flags);
  if (!flags.resume) check_apart(flags, folder);
  // Teachers come before the ensemble that learns from them.
  const bool is_other = !train::RunFolder(folder).can_resume() || train::RunFolder(folder).has_run();
  if (fs::exists(folder) && is_other && !train::RunFolder(folder).is_free())
    fail("train", "--out must be a new folder or that of an ensemble with --members, got ", folder, ".");
  if (is_ensemble(folder) && fs::exists(folder / kMembers) && !flags.overwrite && !flags.resume)
    fail("train", "--out must be new, got ", folder,
         ", which has an ensemble. Hint: --resume continues it, --overwrite replaces it.");
  if (flags.resume && !is_ensemble(folder))
    fail("train", "--resume with --members needs an ensemble, got none in ", folder, ".");
}

std::string typed(const std::string& value) { return value; }
template <class T>
std::string typed(const T& value) {
  if constexpr (std::is_enum_v<T>) return train::word(value);
  return nlohmann::json(value).dump();  // numbers keep all digits
}

/// A flag that a run of several parts cannot have, or another reason why there can be one only; else empty.
std::string not_in_parts(const TrainFlags& flags) {
  if (flags.ranks > 0) return "--ranks";
  if (mpi::is_launched()) return "mpirun";
  if (!flags.profile.empty()) return "--profile";
  if (flags.stop_after > 0) return "--stop-after";
  for (const std::string& text : flags.config.text)
    if (!is_kept(text)) return concat("--text ", text);
  const std::string& own = flags.config.val_text;
  return is_kept(own) ? "" : concat("--val-text ", own);
}

Process start(const Part& part, const TrainFlags& flags, int64_t at_once) {
  std::vector<std::string> words{this_program(), "train"};
  words.insert(words.end(), part.words.begin(), part.words.end());
  words.push_back(concat("--threads=", std::max<int64_t>(1, num_threads() / at_once)));
  words.push_back(concat("--out=", part.folder.string()));
  if (flags.quiet || part.is_quiet) words.emplace_back("--quiet");
  if (flags.tensorboard) words.emplace_back("--tensorboard");
  // With Ctrl-C and Ctrl-Z, the terminal reaches all parts.
  return {"train", words, {.own_group = false, .end_signal = SIGTERM, .out = part.out}};
}

class Members {
 public:
  Members(const TrainFlags& flags, int64_t members, Clock::time_point start)
      : flags_(flags),
        run_(run_path(flags)),
        plan_{.members = members,
              .seed = flags.config.seed,
              .words = setting_words(flags, {"seed", "minutes"})},
        slots_(std::min<int64_t>(members, num_threads())) {
    check_folder(flags);
    if (flags.resume) {
      plan_ = read_plan(folder());
      check_resumed_parts(flags, plan_.members, folder() / kPlan);
    } else if (!may_have_teachers(flags)) {  // whose planning has checked it
      train::TrainConfig config = flags.config;
      (void)read_tokens(flags, config).dataset(config);
      config.model.validate();
    }
    run_.make_and_lock();
    if (flags.resume) return;
    if (flags.overwrite) clear_runs(run_);
    if (flags.config.minutes > 0) {
      const int64_t turns = (members + slots_ - 1) / slots_;
      const double left = kMembersShare * (flags.config.minutes - seconds_since(start) / 60);
      plan_.words.push_back(minutes_word(left / static_cast<double>(turns)));
      plan_.words.emplace_back("--members=1");
    }
    if (flags.overwrite) plan_.words.emplace_back("--overwrite");
    const nlohmann::ordered_json json{{"members", members}, {"seed", plan_.seed}, {"flags", plan_.words}};
    files::write_atomically(folder() / kPlan, [&](std::ostream& out) { out << json.dump(1) << "\n"; });
  }

  int64_t count() const { return plan_.members; }
  const fs::path& folder() const { return run_.path(); }
  fs::path folder(int64_t member) const { return folder() / name(member); }

  /// Trains those that are not finished. Returns the exit code of the first that failed, or that of a signal.
  int train(const train::Interrupt& interrupt, const Messages& messages) {
    int64_t next = 1;
    const int code = run_parts(flags_, slots_, interrupt, [&](bool is_alone) -> std::optional<Part> {
      while (next <= plan_.members && is_finished(next)) ++next;
      if (next > plan_.members) return {};
      messages.line(concat("member  ", next, " of ", plan_.members, ": ", folder(next).string()));
      return part(next++, is_alone);
    });
    const bool is_stopped = interrupt.signal() != 0 && (code != kDone || next <= plan_.members);
    return is_stopped ? 128 + interrupt.signal() : code;
  }

  /// Writes the files that name the members.
  void write() const {
    std::vector<std::string> names;
    for (int64_t i = 1; i <= plan_.members; ++i) names.push_back(name(i));
    files::FolderUpdate update(folder());
    models::save_ensemble(names, update);
    for (const auto& [file, text] : data::tokenizer_files(train::load_tokenizer(folder(1), {})))
      update.write(file, text);
    update.commit();
  }

 private:
  static std::string name(int64_t member) { return concat("members/", member); }

  bool is_finished(int64_t member) const {
    const train::RunFolder run(folder(member));
    return flags_.resume && run.has_last() && run.load_last().trainer.step >= train::load_config(run).steps;
  }

  /// The first of the members that run now prints its progress.
  Part part(int64_t member, bool prints) const {
    Part part{.words = plan_.words,
              .folder = folder(member),
              .unfinished = concat("each member must finish, got ", member, " of ", plan_.members),
              .is_quiet = flags_.json || !prints,
              .tells_codes = true};
    if (flags_.resume && train::RunFolder(folder(member)).has_last())
      part.words = {"--resume"};
    else
      part.words.push_back(concat("--seed=", plan_.seed + member - 1));
    if (flags_.sample_every > 0) part.words.push_back(concat("--sample-every=", flags_.sample_every));
    return part;
  }

  const TrainFlags& flags_;
  train::RunFolder run_;  // holds the lock of the ensemble's folder; each member locks its own folder
  Plan plan_;
  int64_t slots_;
};

/// Evaluates the ensemble on the validation split of its members, and prints loss and sample. Returns the
/// report, without time.
train::RunReport conclude(const Members& members, const TrainFlags& flags, const std::string& program,
                          const Messages& messages) {
  const train::TrainConfig config = train::load_config(train::RunFolder(members.folder(1)));
  train::TrainedModel trained = train::load_trained(members.folder());
  const data::Tokenizer& tokenizer = trained.tokenizer;
  const RunText text = load_text(config, data::TextRules::of(tokenizer));
  const data::TextDataset dataset = RunTokens(text, tokenizer, config).dataset(config);
  train::RunReport report{.steps = config.steps, .finished = true};
  messages.line("");
  std::vector<data::Batch> batches;
  if (dataset.has_validation()) {
    batches = validation_batches(dataset, trained.model.config(), 0);
    const Autocast autocast(config.precision);
    report.val_loss = train::mean_loss(trained.model, batches);
    report.val_tokens = data::count_targets(batches);
    std::vector<std::string> alone;
    for (int64_t i = 1; i <= members.count(); ++i)
      if (const auto end = train::logged_end(train::RunFolder(members.folder(i)).metrics()))
        alone.push_back(decimals(*end->val_loss, 4));
    messages.line(concat(
        "loss    ", decimals(*report.val_loss, 4), " nats a token of the ensemble on the validation text, ",
        decimals(*report.val_loss / std::numbers::ln2 / bytes_per_token(tokenizer, dataset), 4),
        " bits a byte", alone.empty() ? "" : "; of its members " + joined(alone)));
  }
  if (flags.quiet) return report;
  write_last_sample(messages, flags.json, [&](std::ostream& out) {
    write_run_sample(trained.model, tokenizer, dataset, batches, config.seed, kClosingSample, out);
  });
  const std::string folder = members.folder().string();
  messages.line(concat("\nmodel   ", folder, ": an ensemble of the ", members.count(), " models in ", folder,
                       "/members\nmore    ", program, dataset.has_examples() ? " chat " : " sample ",
                       shell_path(folder)));
  return report;
}

}  // namespace

int run_parts(const TrainFlags& flags, int64_t at_once, const train::Interrupt& interrupt,
              const std::function<std::optional<Part>(bool is_alone)>& next) {
  std::vector<std::pair<Process, Part>> running;
  int code = kDone, sent = 0;
  for (bool has_more = true; has_more || !running.empty();) {
    has_more = has_more && code == kDone && sent == 0;
    if (has_more && std::ssize(running) < at_once) {
      const std::optional<Part> part = next(running.empty());
      if (part) running.emplace_back(start(*part, flags, at_once), *part);
      has_more = part.has_value();
      continue;
    }
    if (interrupt.signal() != 0 && sent == 0) {
      sent = interrupt.signal();
      for (const auto& [process, part] : running) process.send(sent);
    }
    std::erase_if(running, [&](auto& one) {
      auto& [process, part] = one;
      const std::optional<Ending> ending = process.poll();
      if (!ending) return false;
      if (code == kDone) code = ending->code;
      if (sent == 0 && (part.tells_codes ? ending->code != kDone : ending->signal != 0))
        std::cerr << concat("gradus: [train] ", part.unfinished, ", which ended ", ending->text(), ": ",
                            files::plain(part.folder.string()), "\n");
      return true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return code;
}

void check_parts(const TrainFlags& flags, std::string_view what) {
  if (const std::string other = not_in_parts(flags); !other.empty())
    fail("train", what, " and ", other, " must not come together, got both.");
}

bool may_have_teachers(const TrainFlags& flags) {
  constexpr double kLeastMinutes = 0.5;  // below, reading the text a second time takes too much of them
  const train::TrainConfig& config = flags.config;
  return !flags.resume && config.minutes >= kLeastMinutes && config.init_from.empty() &&
         config.teacher.empty() && not_in_parts(flags).empty();
}

void check_resumed_parts(const TrainFlags& flags, int64_t members, const fs::path& plan) {
  if (flags.members > 0 && flags.members != members)
    fail("train", "--members of a resumed run must stay ", members, ", got ", flags.members, ".");
  for (const train::Setting& row : train::settings())
    if (flags.is_given(row.key))
      fail("train", "--", row.key, " must be left out when members or teachers are resumed. Hint: ", plan,
           " has the settings.");
}

std::vector<std::string> setting_words(const TrainFlags& flags, std::initializer_list<std::string_view> but) {
  std::vector<std::string> words;
  for (const train::Setting& row : train::settings()) {
    const bool is_derived = row.key == "adapter" && !flags.config.adapter.empty();  // from --init-from
    if (!flags.is_given(row.key) && !is_derived) continue;
    if (std::ranges::find(but, row.key) != but.end()) continue;
    const std::string flag = concat("--", row.key);
    row.visit(flags.config, [&]<class T>(const T& value) {
      if constexpr (std::is_same_v<T, bool>) {
        const std::string off(row.options.off);
        words.push_back(value ? flag : off.empty() ? concat("--no-", row.key) : "--" + off);
      } else if constexpr (requires { value.front(); } && !std::is_same_v<T, std::string>) {
        words.push_back(flag);
        for (const auto& item : value) words.push_back(typed(item));
      } else {
        words.push_back(concat(flag, "=", typed(value)));
      }
    });
  }
  return words;
}

std::string minutes_word(double minutes) {
  constexpr double kLeast = 1e-3;
  return concat("--minutes=", typed(std::max(kLeast, minutes)));
}

bool is_ensemble(const fs::path& folder) { return fs::exists(folder / kPlan); }

void check_replaceable(const TrainFlags& flags, int64_t members) {
  if (members > 1) return check_folder(flags);
  check_apart(flags, run_path(flags));
  train::RunFolder(run_path(flags)).check_free(flags.overwrite);
}

void clear_runs(train::RunFolder& locked) {
  std::vector<fs::path> all, links;
  add_runs(locked.path(), all, links);
  for (const fs::path& one : all)  // before anything is removed
    if (train::RunFolder run(one); one != locked.path() && (run.has_run() || run.can_resume())) run.lock();
  for (const fs::path& link : links) fs::remove(link);
  for (const fs::path& one : all) {
    train::RunFolder other(one);
    train::RunFolder& run = one == locked.path() ? locked : other;
    if (run.has_run()) run.clear(/*overwrite=*/true, /*keep_recipe=*/&run == &other);
    if (is_ensemble(one)) train::remove_run_files(one);
    fs::remove(one / kPlan);
    fs::remove(one / train::RunFolder::kTeachersPlan);
  }
}

int64_t members_of(const TrainFlags& flags) {
  if (flags.members > 0 || !flags.resume) return flags.members;
  return is_ensemble(run_path(flags)) ? read_plan(run_path(flags)).members : 0;
}

int train_members(const TrainFlags& flags, int64_t count, Clock::time_point start, const std::string& program,
                  std::optional<train::Interrupt>& interrupt) {
  const Messages messages(flags.quiet);
  Members members(flags, count, start);
  interrupt->wait_for_save();
  const int code = members.train(*interrupt, messages);
  interrupt.reset();
  train::RunReport report;
  if (code == kDone) {
    members.write();
    report = conclude(members, flags, program, messages);
  } else {
    messages.line(concat("some members are not finished; continue with: ", program, " train --out ",
                         shell_path(members.folder().string()), " --resume"));
  }
  report.seconds = seconds_since(start);
  EventStream events;
  if (flags.json) events.write(train::to_json(report, members.folder()));
  events.finish();
  if (code == kDone) messages.line(concat("done    ", count, " members, ", duration(report.seconds)));
  return code;
}

}  // namespace gradus::cli

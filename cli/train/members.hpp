// `train --members`: trains an ensemble. Each member is a run with its own seed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/cli/train/train_flags.hpp"
#include "gradus/train/interrupt.hpp"
#include "gradus/train/run_folder/run_folder.hpp"

namespace gradus::cli {

/// The members of the ensemble that the flags ask for: --members, or those of a resumed ensemble; 0: none.
int64_t members_of(const TrainFlags& flags);

/// A part of a run: a process of `gradus train`.
struct Part {
  std::vector<std::string> words;  ///< that follow the verb
  std::filesystem::path folder;
  std::string unfinished;    ///< in the message on its end: "each member must finish, got 1 of 2"
  int out = -1;              ///< a descriptor for its standard output; -1: that of this program
  bool is_quiet = false;     ///< prints errors only
  bool tells_codes = false;  ///< an exit code is told, not only a signal
};

/// Runs the parts that next() returns, `at_once` at a time, which share the threads. A signal is passed on to
/// all; after it, or after a failure, none is started. Prints how a part ended that did not finish. Returns
/// the exit code of the first that failed. `is_alone`: no other part runs.
int run_parts(const TrainFlags& flags, int64_t at_once, const train::Interrupt& interrupt,
              const std::function<std::optional<Part>(bool is_alone)>& next);

/// Throws Error for flags that a run of several parts (`what`) does not allow.
void check_parts(const TrainFlags& flags, std::string_view what);
/// Whether `train --minutes` plans teachers (train::planned_teaching): enough time, and flags that allow it.
bool may_have_teachers(const TrainFlags& flags);
/// Throws Error for flags that a resumed run of several parts does not allow: all settings, as `plan` has
/// them, and another --members.
void check_resumed_parts(const TrainFlags& flags, int64_t members, const std::filesystem::path& plan);

/// Trains `count` models in the subfolder members of the run folder. Each has its own process, and as many
/// run at a time as there are threads. Then writes the config.json and the tokenizer of the ensemble,
/// evaluates it and prints a sample. Returns the exit code. The time of --minutes began at `start`. Throws
/// Error, with nothing written, for a text that cannot be used or a folder that has something else.
int train_members(const TrainFlags& flags, int64_t count, std::chrono::steady_clock::time_point start,
                  const std::string& program, std::optional<train::Interrupt>& interrupt);

/// Whether a folder has an ensemble, which may not have begun.
bool is_ensemble(const std::filesystem::path& folder);
/// Throws Error unless the folder of the flags can have a run of one model, or of an ensemble.
void check_replaceable(const TrainFlags& flags, int64_t members);
/// Removes the run or the ensemble in a locked folder, its teachers, and theirs; of members and teachers that
/// are symbolic links, the link. Throws Error, with nothing removed, if one of them is being trained.
void clear_runs(train::RunFolder& locked);
/// The given settings as words of a command, without those of `but`.
std::vector<std::string> setting_words(const TrainFlags& flags, std::initializer_list<std::string_view> but);
/// --minutes with all digits of a time, which may be used up.
std::string minutes_word(double minutes);

}  // namespace gradus::cli

// `train --members`: trains an ensemble. Each member is a run with its own seed.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/cli/program/process.hpp"
#include "gradus/cli/train/train_flags.hpp"
#include "gradus/train/interrupt.hpp"
#include "gradus/train/run_folder/run_folder.hpp"

namespace gradus::cli {

/// The members of the ensemble that the flags ask for: --members, or those of a resumed ensemble; 0: none.
int64_t members_of(const TrainFlags& flags);

/// Throws Error for flags that a run of several parts (`what`) does not allow.
void check_parts(const TrainFlags& flags, std::string_view what);
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
/// How the process of a part starts: with Ctrl-C and Ctrl-Z, the terminal reaches all parts.
inline constexpr Process::Options kPart{.own_group = false, .end_signal = SIGTERM};
/// Prints how a part ended that did not finish.
void tell_end(std::string_view what, std::string_view part, const Ending& ending,
              const std::filesystem::path& folder);
/// The given settings as words of a command, without those of `but`.
std::vector<std::string> setting_words(const TrainFlags& flags, std::initializer_list<std::string_view> but);
/// --minutes with all digits of a time, which may be used up.
std::string minutes_word(double minutes);

}  // namespace gradus::cli

// Teaching: a run with --minutes may first train teachers, one model or an ensemble. The model of the run, or
// the members of its ensemble, then learn from them (TrainConfig::teacher). Both parts are `gradus train`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "gradus/cli/train/train_flags.hpp"
#include "gradus/train/interrupt.hpp"

namespace gradus::cli {

/// The words with which the two parts begin, teachers.json of the run folder.
struct TaughtRun {
  std::vector<std::string> teachers, learner;
  int64_t members = 1;  ///< of the learner; 1: it is one model
  double minutes = 0;   ///< of the learner
};

/// The run that the flags ask for, whose time began at `start`, if it gets teachers
/// (train::planned_teaching), or a resumed one whose learner has not begun. `members`: of its ensemble; 0 and
/// 1: it is one model. Throws Error for a text that cannot be read.
std::optional<TaughtRun> taught_run(const TrainFlags& flags, int64_t members,
                                    std::chrono::steady_clock::time_point start);

/// Trains the teachers in the subfolder teachers of the run folder, then the learner. Returns the exit code.
/// Throws Error, with nothing written, for a folder that has something else.
int train_taught(const TrainFlags& flags, const TaughtRun& run, std::chrono::steady_clock::time_point start,
                 const std::string& program, train::Interrupt& interrupt);

}  // namespace gradus::cli

// Metrics: what a run reports, as JSON lines, and the file that keeps them.
//
// The lines of metrics.jsonl are those that `gradus train --json` prints. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gradus/files/file.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {

/// What an evaluation found.
struct EvalReport {
  int64_t step = 0;      ///< steps done by then
  double val_loss = 0;   ///< of the validation batches; nats a token for the decoder
  int64_t tokens = 0;    ///< targets that they have
  bool is_best = false;  ///< lowest so far
  double elapsed = 0;    ///< as a StepReport's
};

/// How a run ended.
struct RunReport {
  int64_t steps = 0;  ///< done in all, those before a resume included
  std::optional<double>
      val_loss{};           ///< the lowest, which is that of the model kept; none without a validation split
  int64_t val_tokens = 0;   ///< targets that it is the loss of
  double seconds = 0;       ///< since the start or the resume
  double tokens_per_s = 0;  ///< of the training steps; evaluating and saving not counted
  bool finished = false;    ///< false if it was stopped before the last step
  bool is_logged = false;   ///< if it was over before, whether the log tells of its end
};

/// {"event":"step","step":..,"loss":..,"lr":..,"grad_norm":..,"tokens_per_s":..,"elapsed_s":..}
std::string to_json(const StepReport& report);
/// {"event":"eval","step":..,"val_loss":..,"tokens":..,"elapsed_s":..}
std::string to_json(const EvalReport& report);
/// {"event":"done","steps":..,"val_loss":..,"val_tokens":..,"seconds":..,"tokens_per_s":..,"out":..};
/// val_loss may be null, and the event is "stopped" if the run was.
std::string to_json(const RunReport& report, const std::filesystem::path& out);

/// {"event":"sample","step":..,"text":..}, for a text that the model wrote.
std::string sample_to_json(int64_t step, const std::string& text);

/// The lines of a log that are whole records of steps up to `step`; with `is_over` also that of the run's end
/// after this step.
std::string records_up_to(int64_t step, const std::string& text, bool is_over = false);

/// Losses of validation in a log, each with the targets that it is the mean of.
struct LoggedLosses {
  std::optional<EvalReport> best{};  ///< the lowest of the evaluations on the way
  std::optional<RunReport> end{};    ///< how the run ended, if that has been logged
};
/// Lines that are not whole records are left out. Throws Error if the file is there and cannot be read.
LoggedLosses logged_losses(const std::filesystem::path& file);

/// The file metrics.jsonl of a run that writes to it.
class MetricsLog {
 public:
  /// Opens the file to append to, after dropping what is no whole record and records of steps later than
  /// `step`: those that a resumed run will write again. Adds those of `unlogged` (see Checkpoint) that it
  /// lacks. The record of the run's end after `step` stays if the run `is_over`. Throws RunError if the disk
  /// refuses.
  MetricsLog(const std::filesystem::path& path, int64_t step, const std::vector<std::string>& unlogged,
             bool is_over);

  /// Adds a line and hands it to the system at once, so that a killed run loses none. Throws RunError as
  /// above.
  void write(const std::string& line);

  /// The elapsed_s of the last record that was there to append to; 0 for none, or one of a gradus that did
  /// not write it.
  double elapsed_before() const { return elapsed_before_; }
  bool has_end() const { return has_end_; }  ///< whether the record of the run's end was there

 private:
  MetricsLog(const std::filesystem::path& path, const std::string& records);

  double elapsed_before_;
  bool has_end_;
  files::AppendedFile file_;
};

}  // namespace gradus::train

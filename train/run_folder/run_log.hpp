// RunLog: the log of a run, metrics.jsonl, and its clock. If the log cannot be written, the run first saves
// its state with the lines that the log lacks. Not thread-safe.
#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <vector>

#include "gradus/files/file.hpp"
#include "gradus/train/trainer/metrics.hpp"

namespace gradus::train {

class RunLog {
 public:
  /// Opens the file to append to. Drops lines that are not whole records and records of steps after `step`,
  /// which a resumed run writes again; adds those of `unlogged` (see Checkpoint) that the file lacks. Keeps
  /// the record of the run's end after `step` if the run `is_over`. Throws RunError if the disk refuses.
  RunLog(const std::filesystem::path& path, int64_t step, const std::vector<std::string>& unlogged,
         bool is_over)
      : RunLog(path, kept_records(path, step, unlogged, is_over)) {}

  /// Adds the report of a step, and sets the fields that run() sets. Each line is passed to the system
  /// immediately, so that a killed run loses none.
  void write(StepReport& report);
  /// Adds the report of an evaluation, and sets its elapsed.
  void write(EvalReport& report);
  /// Adds the measurements of a step, and sets their elapsed.
  void write(LayerReport& report);
  void write(const StartReport& report) { add_line(to_json(report)); }
  /// Adds a text that the model has generated after a step.
  void write_sample(int64_t step, const std::string& text) { add_line(sample_to_json(step, text)); }

  bool has_end() const { return has_end_; }            ///< whether the log had the record of the run's end
  bool failed() const { return failure_ != nullptr; }  ///< whether a write failed
  const std::vector<std::string>& unlogged() const { return unlogged_; }  ///< the lines since then
  /// Throws the RunError of the write that failed, if one did.
  void rethrow() const;

  double seconds() const;       ///< since construction
  double tokens_per_s() const;  ///< of the steps written, without the time between them

 private:
  RunLog(const std::filesystem::path& path, const std::string& records);
  static std::string kept_records(const std::filesystem::path& path, int64_t step,
                                  const std::vector<std::string>& unlogged, bool is_over);
  template <class Report>
  void add(Report& report);
  void add_line(const std::string& line);

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double elapsed_before_;  // seconds of the run before a resume
  bool has_end_;
  files::AppendedFile file_;
  std::exception_ptr failure_;
  std::vector<std::string> unlogged_;
  double training_seconds_ = 0, tokens_ = 0;  // of the steps
  double eval_seconds_ = 0;
  int64_t eval_tokens_ = 0;
};

}  // namespace gradus::train

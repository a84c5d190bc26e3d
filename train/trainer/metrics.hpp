// Metrics: the reports of a run, the tables of their numbers, and their JSON lines. `gradus train --json`
// prints the lines of metrics.jsonl. Thread-safe: no state.
//
// A new number of a step is a member of StepReport, set in step.cpp, and a row of kStepMetrics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::train {

/// The result of a step.
struct StepReport {
  int64_t step = 0;      ///< steps done, including this one
  double loss = 0;       ///< mean over the step's targets before the update; nats per token for the decoder
  double lr = 0;         ///< learning rate of the update
  double grad_norm = 0;  ///< before clipping
  double seconds = 0;    ///< duration
  int64_t tokens = 0;    ///< targets

  // run() sets these.
  double elapsed = 0;       ///< seconds of running, including those before a resume
  double eval_seconds = 0;  ///< seconds of the evaluations of this run, without those before a resume
  int64_t eval_tokens = 0;  ///< targets of those evaluations
};

/// The norms of a parameter around a step.
struct ParameterNorms {
  std::string name;        ///< as in named_parameters()
  double norm = 0;         ///< after the step
  double grad_norm = 0;    ///< before clipping; NaN if another rank has the gradient
  double update_norm = 0;  ///< of the change of the parameter
};

/// Measurements of a step.
struct LayerReport {
  int64_t step = 0;                        ///< as in StepReport
  std::vector<ParameterNorms> parameters;  ///< those that are trained
  int64_t examples = 0;                    ///< of the step
  /// The number of examples in a smaller batch, whose gradient has the norm part_grad_norm. With the examples
  /// and the gradient of the step, they give the gradient noise scale (McCandlish et al., arXiv 1812.06162,
  /// appendix A.1). 0: not measured.
  int64_t part_examples = 0;
  double part_grad_norm = 0;  ///< see part_examples
  double elapsed = 0;         ///< see StepReport
};

/// The result of an evaluation.
struct EvalReport {
  int64_t step = 0;        ///< steps done before it
  double val_loss = 0;     ///< mean over the validation batches; nats per token for the decoder
  int64_t tokens = 0;      ///< targets of the validation batches
  bool is_best = false;    ///< lowest so far
  double seconds = 0;      ///< duration, including the save of the best model
  double elapsed = 0;      ///< see StepReport
  int64_t peak_bytes = 0;  ///< the most memory that the process has used so far
};

/// The start or the resume of a run, for readers of its log.
struct StartReport {
  int64_t step = 0;            ///< steps done before
  std::string version;         ///< of gradus
  std::string machine;         ///< processor, threads, instructions
  std::string model;           ///< its shape
  double bytes_per_token = 0;  ///< of the validation text; 0: not known
};

/// How a run ended.
struct RunReport {
  int64_t steps = 0;                 ///< steps done, including those before a resume
  std::optional<double> val_loss{};  ///< of the best model; none without a validation split
  int64_t val_tokens = 0;            ///< number of targets over which val_loss is a mean
  double seconds = 0;                ///< since the start or the resume
  double tokens_per_s = 0;           ///< during training steps, without evaluations and saves
  bool finished = false;             ///< false if it was stopped before the last step
  bool is_logged = false;            ///< whether the log already has the end of the run
};

/// A number of a report, for the log, the terminal and TensorBoard.
template <class Report>
struct Metric {
  std::string_view name;           ///< in metrics.jsonl
  std::string_view tag;            ///< in TensorBoard
  std::string_view shown;          ///< label in the terminal (of steps: running means); empty: not shown
  double (*value)(const Report&);  ///< of a report
};
/// The numbers of a StepReport.
inline constexpr Metric<StepReport> kStepMetrics[] = {
    {"loss", "train/loss", "loss", [](const StepReport& report) { return report.loss; }},
    {"lr", "train/lr", "", [](const StepReport& report) { return report.lr; }},
    {"grad_norm", "train/grad_norm", "", [](const StepReport& report) { return report.grad_norm; }},
    {"tokens_per_s", "train/tokens_per_s", "",
     [](const StepReport& report) { return static_cast<double>(report.tokens) / report.seconds; }},
};
/// The numbers of an EvalReport.
inline constexpr Metric<EvalReport> kEvalMetrics[] = {
    {"val_loss", "val/loss", "val", [](const EvalReport& report) { return report.val_loss; }},
};

// The lines of metrics.jsonl (docs/run-folder.md).
std::string to_json(const StartReport& report);                                  ///< the event start
std::string to_json(const StepReport& report);                                   ///< step, with kStepMetrics
std::string to_json(const EvalReport& report);                                   ///< eval, with kEvalMetrics
std::string to_json(const LayerReport& report);                                  ///< layers
std::string to_json(const RunReport& report, const std::filesystem::path& out);  ///< done, or stopped
std::string sample_to_json(int64_t step, const std::string& text);               ///< sample

/// The lines of a log that are complete records of steps up to `step`; with `is_over`, also the record that
/// ends the run after that step.
std::string records_up_to(int64_t step, const std::string& text, bool is_over = false);

/// The end of a finished run, with its validation loss, as its log records it; none if the log has no such
/// record. Throws Error if the file exists but cannot be read.
std::optional<RunReport> logged_end(const std::filesystem::path& file);

}  // namespace gradus::train

// Losses of runs, drawn from what they logged (metrics.jsonl). Plain values. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gradus::plots {

/// A loss after some steps and minutes; minutes are NaN where they were not logged.
struct LossPoint {
  double step, minutes, loss;
};

/// What a run logged.
struct LossCurve {
  std::string name;  ///< of the run's folder
  std::vector<LossPoint> training, validation;
  int64_t validation_tokens = 0;  ///< that the last of them is the loss of; 0: it was not logged
  std::optional<double> end{};    ///< loss of the best model when the run was over
  int64_t end_tokens = 0;         ///< that this is the loss of
};

/// Reads the log of a run folder, or the file itself. A last line that is not whole, of a run that goes on or
/// was killed, is left out. Throws Error, naming file and line, for what is no such log or has no loss in it.
LossCurve read_losses(const std::filesystem::path& run);

struct LossPlotOptions {
  bool by_steps = false;     ///< losses against steps, not minutes
  bool logarithmic = false;  ///< equal ratios of time are equally far apart
};

/// A plot in SVG: of each curve the validation losses as a line with dots, and the training losses, averaged
/// over a hundredth of the run, as a thin line of the same colour. The axes hold all that was
/// validated and how low training came; of a run that never validated, training from a tenth of it on. Throws
/// Error if minutes are not known.
std::string loss_plot(const std::vector<LossCurve>& curves, const LossPlotOptions& options);

}  // namespace gradus::plots

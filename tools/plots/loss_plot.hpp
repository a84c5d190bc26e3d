// Plots of the losses in the logs of runs (metrics.jsonl). Plain values. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradus/tools/pages/report/logged_run.hpp"
#include "gradus/tools/plots/text/chart.hpp"

namespace gradus::plots {

/// A loss after some steps and minutes; minutes are NaN if they were not logged.
struct LossPoint {
  double step, minutes, loss;
};

/// The log of a run.
struct LossCurve {
  std::string name;  ///< of the run's folder
  std::vector<LossPoint> training, validation;
  int64_t validation_tokens = 0;  ///< of the last validation; 0: not logged
  std::optional<double> end{};    ///< loss of the best model at the end of the run
  int64_t end_tokens = 0;         ///< in the text of this loss
};

/// The losses of a run. Throws Error if it has none.
LossCurve read_losses(const pages::LoggedRun& run);

struct LossPlotOptions {
  bool by_steps = false;     ///< the horizontal axis has steps, not minutes
  bool logarithmic = false;  ///< the horizontal axis is logarithmic
};

/// A plot in SVG. Each curve has its validation losses as a line with dots, and its training losses, averaged
/// over a hundredth of the run, as a thin line with the same colour. The axes include all validation losses
/// and the lowest training loss; for a run without validation, its training losses after the first tenth.
/// Throws Error if minutes are not known.
std::string loss_plot(const std::vector<LossCurve>& curves, const LossPlotOptions& options);

/// The same in characters, with a mark for each run; a run without validation has it at its end. The legend
/// is below the rows of the chart, and its lines may be longer than the columns.
std::string loss_chart(const std::vector<LossCurve>& curves, const LossPlotOptions& options,
                       const ChartSize& size);

}  // namespace gradus::plots

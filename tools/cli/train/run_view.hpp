// RunView: what a terminal shows of a run while it trains: numbers, a bar, the losses and a sample. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/plots/text/chart.hpp"

namespace gradus::cli {

/// The points of a curve of any length: at most kMost means of equally many neighbours.
class LongCurve {
 public:
  void add(double x, double y);
  const plots::Points& points() const { return points_; }

 private:
  static constexpr size_t kMost = 400;
  plots::Points points_;
  double x_ = 0, y_ = 0;  // sums of the next point
  size_t count_ = 0, together_ = 1;
};

class RunView {
 public:
  LongCurve training;        ///< running means of the loss, by steps
  plots::Points validation;  ///< losses, by steps
  std::string sample;        ///< text of the model; empty: none
  int64_t sample_step = 0;   ///< the steps before it

  /// The lines, each shorter than a row, that show `numbers`, which wrap between two of them, and `part`,
  /// from 0 to 1, of the run as a bar. A terminal of few rows shows no more than these.
  std::vector<std::string> lines(const std::vector<std::string>& numbers, double part,
                                 const Terminal& terminal) const;

 private:
  void add_chart(int columns, int rows, const Terminal& terminal, std::vector<std::string>& lines) const;
};

}  // namespace gradus::cli

// Axes of plots: their ranges, and the round values on them. Plain values. Thread-safe: no state.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace gradus::plots {

/// Maps values to places, linearly.
struct Axis {
  double low, high, from, to;
  double operator()(double value) const;
};

/// The smallest range with all values added; empty at first.
struct Range {
  double low = INFINITY, high = -INFINITY;
  void add(double value);  ///< ignores a value that is not finite
  /// A slightly larger range, so that no line runs along an edge, and never an empty one.
  Range widened() const;
};

/// A few round values within the axis: multiples of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(const Axis& axis, int most);

/// A number for a label, with three decimals at most.
std::string label(double value);

}  // namespace gradus::plots

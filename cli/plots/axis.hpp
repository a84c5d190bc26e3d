// Ranges of plots, and the round values in them. Plain values. Thread-safe: no state.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace gradus::plots {

/// The smallest range with all values added; empty at first.
struct Range {
  double low = INFINITY, high = -INFINITY;
  void add(double value);  ///< ignores a value that is not finite
  /// A slightly larger range, so that no line runs along an edge, and never an empty one.
  Range widened() const;
};

/// A few round values within the range: multiples of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(const Range& range, int most);

/// A number for a label, with three decimals at most.
std::string label(double value);

}  // namespace gradus::plots

// A chart in characters: curves with axes, for terminals. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/tools/plots/text/axis.hpp"

namespace gradus::plots {

using Points = std::vector<std::pair<double, double>>;

/// Points (x, y) that are finite, in an order of x.
struct Series {
  Points points;
  int colour = 0;  ///< see Canvas
  char mark = 0;   ///< at each point; 0: a line of dots through the points
};

struct ChartSize {
  int columns, rows;     ///< with labels
  bool colours = false;  ///< whether the lines have escape sequences of colours
};

/// The curves, later ones above earlier ones, from the low to the high of the axes. Labels of y are to the
/// left, those of x and `x_name` in the last row. No line is longer than the columns.
std::vector<std::string> chart(const std::vector<Series>& curves, Axis x, Axis y, std::string_view x_name,
                               const ChartSize& size);

}  // namespace gradus::plots

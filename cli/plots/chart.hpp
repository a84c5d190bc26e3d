// A chart in characters: curves with axes, for terminals. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/cli/plots/axis.hpp"

namespace gradus::plots {

/// A picture in characters. A cell has a braille character, 2 dots wide and 4 high, or a mark. Places are in
/// dots from the top left. Not thread-safe.
class Canvas {
 public:
  Canvas(int columns, int rows);
  int width() const { return 2 * columns_; }  ///< in dots
  int height() const { return 4 * rows_; }    ///< in dots

  // Parts outside the picture are not drawn. `colour` is a terminal's number of a colour, 31 to 36, or 0 for
  // the colour of text. A cell has the colour that was drawn last.
  void line(double x0, double y0, double x1, double y1, int colour = 0);
  /// `mark`, an ASCII character, in the cell of the place, above all dots there.
  void mark(double x, double y, char mark, int colour = 0);

  /// A row of cells, without blanks at its end.
  std::string row(int row, bool with_colours) const;

 private:
  struct Cell {
    uint8_t dots = 0;
    char mark = 0;
    int colour = 0;
  };
  Cell* cell_at(double x, double y);  // null: outside

  int columns_, rows_;
  std::vector<Cell> cells_;
};

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

/// The curves, later ones above earlier ones, over ranges that are not empty. Labels of y are to the left,
/// those of x and `x_name` in the last row. No line is longer than the columns.
std::vector<std::string> chart(const std::vector<Series>& curves, const Range& x, const Range& y,
                               std::string_view x_name, const ChartSize& size);

}  // namespace gradus::plots

#include "gradus/tools/plots/text/canvas.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/files/error.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::plots {

Canvas::Canvas(int columns, int rows)
    : columns_(columns), rows_(rows), cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {}

Canvas::Cell* Canvas::cell_at(double x, double y) {
  if (!(x >= 0 && x < width() && y >= 0 && y < height())) return nullptr;
  return &cells_[static_cast<size_t>(y) / 4 * static_cast<size_t>(columns_) + static_cast<size_t>(x) / 2];
}

void Canvas::line(double x0, double y0, double x1, double y1, int colour) {
  // The bits of a braille character's dots, row by row.
  constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  const auto x = [&](double place) { return std::clamp(place, -1.0, width() * 1.0); };
  const auto y = [&](double place) { return std::clamp(place, -1.0, height() * 1.0); };
  const double dx = x(x1) - x(x0), dy = y(y1) - y(y0);
  if (std::isnan(dx + dy)) return;
  const int steps = std::max(1, static_cast<int>(std::ceil(std::max(std::fabs(dx), std::fabs(dy)))));
  for (int i = 0; i <= steps; ++i) {
    const double at_x = std::round(x(x0) + dx * i / steps), at_y = std::round(y(y0) + dy * i / steps);
    Cell* const cell = cell_at(at_x, at_y);
    if (!cell || cell->mark) continue;
    cell->dots |= kBits[static_cast<int>(at_y) % 4][static_cast<int>(at_x) % 2];
    cell->colour = colour;
  }
}

void Canvas::mark(double x, double y, char mark, int colour) {
  if (Cell* const cell = cell_at(std::round(x), std::round(y))) *cell = {.mark = mark, .colour = colour};
}

std::string Canvas::row(int row, bool with_colours) const {
  constexpr char32_t kBraille = 0x2800;
  const Cell* const cells = &cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_)];
  int columns = columns_, colour = 0;
  while (columns > 0 && !cells[columns - 1].dots && !cells[columns - 1].mark) --columns;
  std::string text;
  const auto change_to = [&](int next) {
    if (with_colours && next != colour) text += concat("\033[", next, "m");
    colour = next;
  };
  for (int i = 0; i < columns; ++i) {
    const Cell& cell = cells[i];
    if (cell.dots || cell.mark) change_to(cell.colour);
    text += cell.mark ? std::string(1, cell.mark) : cell.dots ? files::to_utf8(kBraille + cell.dots) : " ";
  }
  change_to(0);
  return text;
}

}  // namespace gradus::plots

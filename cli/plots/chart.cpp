#include "gradus/cli/plots/chart.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/files/error.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::plots {
namespace {

/// Maps values to dots, linearly.
struct Axis {
  Range range;
  double from, to;
  double operator()(double value) const {
    return from + (to - from) * ((value - range.low) / (range.high - range.low));
  }
};

void draw(const Series& curve, const Axis& x, const Axis& y, Canvas& canvas) {
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const auto& [to_x, to_y] = curve.points[i];
    const auto& [from_x, from_y] = curve.points[i > 0 ? i - 1 : 0];
    if (curve.mark)
      canvas.mark(x(to_x), y(to_y), curve.mark, curve.colour);
    else
      canvas.line(x(from_x), y(from_y), x(to_x), y(to_y), curve.colour);
  }
}

/// The cell of a place, which may be beyond the edge by a rounding.
size_t cell(double place, int dots, size_t count) {
  return std::min(count - 1, static_cast<size_t>(std::max(0.0, place)) / static_cast<size_t>(dots));
}

/// The name at the right end, and the labels that have room, each below its tick.
std::string labels_below(const Axis& x, const std::vector<double>& x_ticks, std::string_view name,
                         size_t margin, size_t columns) {
  std::string line(columns, ' ');
  const size_t most = columns > name.size() + 1 ? columns - name.size() - 1 : columns;
  if (most < columns) line.replace(columns - name.size(), name.size(), name);
  size_t next = 0;  // first free column
  for (const double value : x_ticks) {
    const std::string text = label(value);
    const size_t middle = margin + cell(std::round(x(value)), 2, columns - margin), half = text.size() / 2;
    const size_t begin = middle > half ? middle - half : 0;
    if (begin < next || begin + text.size() > most) continue;
    line.replace(begin, text.size(), text);
    next = begin + text.size() + 2;
  }
  return line;
}

}  // namespace

std::vector<std::string> chart(const std::vector<Series>& curves, const Range& of_x, const Range& of_y,
                               std::string_view x_name, const ChartSize& size) {
  const int rows = std::max(1, size.rows - 2);
  const std::vector<double> y_ticks = ticks(of_y, std::clamp((rows + 1) / 2, 2, 8));
  size_t margin = 0;
  for (const double value : y_ticks) margin = std::max(margin, label(value).size());
  const auto columns = static_cast<size_t>(std::max(2, size.columns - static_cast<int>(margin) - 2));

  Canvas canvas(static_cast<int>(columns), rows);
  const Axis x{of_x, 0, canvas.width() - 1.0}, y{of_y, canvas.height() - 1.0, 0};
  for (const Series& curve : curves) draw(curve, x, y, canvas);

  std::vector<std::string> labels(static_cast<size_t>(rows)), lines;
  for (const double value : y_ticks) labels[cell(std::round(y(value)), 4, labels.size())] = label(value);
  for (int row = 0; row < rows; ++row) {
    const std::string& text = labels[static_cast<size_t>(row)];
    lines.push_back(std::string(margin - text.size(), ' ') + text + (text.empty() ? " │" : " ┤") +
                    canvas.row(row, size.colours));
  }
  const std::vector<double> x_ticks = ticks(of_x, std::clamp(static_cast<int>(columns) / 10, 2, 8));
  std::vector<bool> has_tick(columns);
  for (const double value : x_ticks) has_tick[cell(std::round(x(value)), 2, columns)] = true;
  std::string axis = std::string(margin, ' ') + " └";
  for (const bool tick : has_tick) axis += tick ? "┬" : "─";
  lines.push_back(axis);
  lines.push_back(labels_below(x, x_ticks, x_name, margin + 2, margin + 2 + columns));
  return lines;
}

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

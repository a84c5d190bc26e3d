#include <algorithm>
#include <cmath>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/tools/bench/scaling.hpp"
#include "gradus/tools/plots/svg.hpp"

namespace gradus::bench {
namespace {

using plots::Axis, plots::path, plots::text;

constexpr double kWidth = 400, kHeight = 280;                       // of a panel
constexpr double kLeft = 60, kRight = 16, kTop = 36, kBottom = 44;  // around its axes

struct Line {
  const char *name, *colour, *dashes;
  double (*ms)(const ScalingPoint& point);
};

constexpr Line kLines[] = {
    {"measured", "#1f5fa8", "none", [](const ScalingPoint& p) { return p.ms; }},
    {"predicted", "#c05a1a", "5 4", [](const ScalingPoint& p) { return p.predicted_ms; }},
    {"floor", "#888888", "2 3", [](const ScalingPoint& p) { return p.floor_ms; }},
};

double us_a_token(const Line& line, const ScalingPoint& p) {
  return 1e3 * line.ms(p) / static_cast<double>(p.workload.tokens());
}

std::string curve(const Line& line, const std::vector<ScalingPoint>& points, const Axis& x, const Axis& y) {
  std::vector<std::pair<double, double>> way;
  std::string dots;
  for (const ScalingPoint& p : points) {
    way.emplace_back(x(static_cast<double>(p.value)), y(us_a_token(line, p)));
    if (&line == &kLines[0])
      dots += plots::dot(way.back().first, way.back().second, p.slow() ? 5 : 3,
                         p.slow() ? "#c00000" : line.colour);
  }
  return path(way, line.colour, line.dashes) + dots;
}

std::string panel(const std::vector<ScalingPoint>& points) {
  double low = INFINITY, high = 0;
  for (const ScalingPoint& p : points)
    for (const Line& line : kLines) {
      low = std::min(low, us_a_token(line, p));
      high = std::max(high, us_a_token(line, p));
    }
  const Axis x{static_cast<double>(points.front().value) / 1.1,
               static_cast<double>(points.back().value) * 1.1, kLeft, kWidth - kRight, true};
  const Axis y{low / 1.2, high * 1.2, kHeight - kBottom, kTop, true};
  std::string svg = text(kLeft, 20, "time a token against " + points.front().varied, "font-weight=\"bold\"");
  std::vector<double> sizes;
  for (const ScalingPoint& p : points) sizes.push_back(static_cast<double>(p.value));
  svg += plots::axes(x, y, sizes);
  svg += text(8, kTop - 4, "us");
  for (const Line& line : kLines) svg += curve(line, points, x, y);
  return svg;
}

std::string legend(double y) {
  std::string svg;
  double x = kLeft;
  for (const Line& line : kLines) {
    svg += plots::legend_entry(x, y, line.name, line.colour, line.dashes);
    x += 130;
  }
  return svg + text(x, y + 4, concat("large dots: over ", kSlow, " times the prediction"));
}

}  // namespace

std::string scaling_plot(const std::vector<ScalingPoint>& points) {
  std::string body;
  int count = 0;
  for (size_t begin = 0; begin < points.size(); ++count) {
    size_t end = begin;
    while (end < points.size() && points[end].varied == points[begin].varied) ++end;
    const int column = count % 2, row = count / 2;
    body += concat("<g transform=\"translate(", column * kWidth, " ", row * kHeight, ")\">\n",
                   panel({points.begin() + static_cast<std::ptrdiff_t>(begin),
                          points.begin() + static_cast<std::ptrdiff_t>(end)}),
                   "</g>\n");
    begin = end;
  }
  const int rows = (count + 1) / 2;
  const double height = rows * kHeight;
  return plots::picture(2 * kWidth, height + 30, body + legend(height + 10));
}

}  // namespace gradus::bench

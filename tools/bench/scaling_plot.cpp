#include <algorithm>
#include <cmath>
#include <sstream>

#include "gradus/autograd/error.hpp"
#include "gradus/tools/bench/scaling.hpp"

namespace gradus::bench {
namespace {

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

/// From values to places, equal ratios being equally far apart.
struct Axis {
  double low, high, from, to;
  double operator()(double value) const {
    return from + (to - from) * std::log(value / low) / std::log(high / low);
  }
};

std::string number(double value) { return concat(std::round(value * 1000) / 1000); }

std::string text(double x, double y, const std::string& content, const char* more = "") {
  return concat("<text x=\"", x, "\" y=\"", y, "\" ", more, ">", content, "</text>\n");
}

std::string stroke(double x1, double y1, double x2, double y2, const char* colour,
                   const char* dashes = "none") {
  return concat("<path d=\"M", x1, " ", y1, "L", x2, " ", y2, "\" stroke=\"", colour,
                "\" stroke-dasharray=\"", dashes, "\"/>\n");
}

std::string curve(const Line& line, const std::vector<ScalingPoint>& points, const Axis& x, const Axis& y) {
  std::string path, dots;
  for (const ScalingPoint& p : points) {
    const double px = x(static_cast<double>(p.value)), py = y(us_a_token(line, p));
    path += concat(path.empty() ? "M" : "L", px, " ", py);
    if (&line == &kLines[0])
      dots += concat("<circle cx=\"", px, "\" cy=\"", py, "\" r=\"", p.slow() ? 5 : 3, "\" fill=\"",
                     p.slow() ? "#c00000" : line.colour, "\"/>\n");
  }
  return concat("<path d=\"", path, "\" fill=\"none\" stroke=\"", line.colour, "\" stroke-dasharray=\"",
                line.dashes, "\"/>\n", dots);
}

/// Round values within the axis: 1, 2, 5, 10, 20, ..., and some between them on a short one.
std::vector<double> ticks(const Axis& axis) {
  const bool is_short = axis.high / axis.low < 8;
  const std::vector<double> digits =
      is_short ? std::vector{1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0} : std::vector{1.0, 2.0, 5.0};
  std::vector<double> at;
  for (int tens = -9; tens <= 9; ++tens)
    for (const double digit : digits)
      if (const double value = digit * std::pow(10.0, tens); value >= axis.low && value <= axis.high)
        at.push_back(value);
  return at;
}

std::string panel(const std::vector<ScalingPoint>& points) {
  double low = INFINITY, high = 0;
  for (const ScalingPoint& p : points)
    for (const Line& line : kLines) {
      low = std::min(low, us_a_token(line, p));
      high = std::max(high, us_a_token(line, p));
    }
  const Axis x{static_cast<double>(points.front().value) / 1.1,
               static_cast<double>(points.back().value) * 1.1, kLeft, kWidth - kRight};
  const Axis y{low / 1.2, high * 1.2, kHeight - kBottom, kTop};
  std::string svg = text(kLeft, 20, "time a token against " + points.front().varied, "font-weight=\"bold\"");
  for (const double value : ticks(y)) {
    svg += stroke(x.from, y(value), x.to, y(value), "#e4e4e4");
    svg += text(kLeft - 6, y(value) + 4, number(value), "text-anchor=\"end\"");
  }
  for (const ScalingPoint& p : points)
    svg += text(x(static_cast<double>(p.value)), kHeight - kBottom + 18, std::to_string(p.value),
                "text-anchor=\"middle\"");
  svg += stroke(x.from, y.from, x.to, y.from, "#444444") + stroke(x.from, y.from, x.from, y.to, "#444444");
  svg += text(8, kTop - 4, "us");
  for (const Line& line : kLines) svg += curve(line, points, x, y);
  return svg;
}

std::string legend(double y) {
  std::string svg;
  double x = kLeft;
  for (const Line& line : kLines) {
    svg += stroke(x, y, x + 30, y, line.colour, line.dashes) + text(x + 36, y + 4, line.name);
    x += 130;
  }
  return svg + text(x, y + 4, concat("large dots: over ", kSlow, " times what is predicted"));
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
  return concat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", 2 * kWidth, "\" height=\"", height + 30,
                "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
                "fill=\"white\"/>\n",
                body, legend(height + 10), "</svg>\n");
}

}  // namespace gradus::bench

#include "gradus/tools/plots/svg.hpp"

#include <cmath>

#include "gradus/autograd/error.hpp"

namespace gradus::plots {
namespace {

std::string escaped(std::string_view content) {
  std::string xml;
  for (const char c : content) xml += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return xml;
}

/// 1, 2, 5, 10, 20, ..., and some between them on a short axis.
std::vector<double> logarithmic_ticks(const Axis& axis) {
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

/// Multiples of 1, 2 or 5 times a power of ten, eight at most.
std::vector<double> even_ticks(const Axis& axis) {
  constexpr int kMost = 8;
  const double least = (axis.high - axis.low) / kMost;
  const double tens = std::pow(10.0, std::floor(std::log10(least)));
  double step = 10 * tens;
  for (const double digit : {5.0, 2.0, 1.0})
    if (digit * tens >= least) step = digit * tens;
  std::vector<double> at;
  const double first = std::ceil(axis.low / step);
  for (int i = 0; i <= kMost; ++i)
    if (const double value = (first + i) * step + 0.0; value <= axis.high) at.push_back(value);  // 0, not -0
  return at;
}

}  // namespace

double Axis::operator()(double value) const {
  const double part =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + (to - from) * part;
}

std::vector<double> ticks(const Axis& axis) {
  return axis.logarithmic ? logarithmic_ticks(axis) : even_ticks(axis);
}

std::string label(double value) { return concat(std::round(value * 1000) / 1000); }

std::string text(double x, double y, std::string_view content, std::string_view more) {
  return concat("<text x=\"", x, "\" y=\"", y, "\" ", more, ">", escaped(content), "</text>\n");
}

std::string path(const std::vector<std::pair<double, double>>& points, std::string_view colour,
                 std::string_view dashes, std::string_view more) {
  std::string line;
  for (const auto& [x, y] : points) line += concat(line.empty() ? "M" : "L", x, " ", y);
  return concat("<path d=\"", line, "\" fill=\"none\" stroke=\"", colour, "\" stroke-dasharray=\"", dashes,
                "\" ", more, "/>\n");
}

std::string dot(double x, double y, double radius, std::string_view colour) {
  return concat("<circle cx=\"", x, "\" cy=\"", y, "\" r=\"", radius, "\" fill=\"", colour, "\"/>\n");
}

std::string picture(double width, double height, std::string_view body) {
  return concat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height,
                "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
                "fill=\"white\"/>\n",
                body, "</svg>\n");
}

}  // namespace gradus::plots

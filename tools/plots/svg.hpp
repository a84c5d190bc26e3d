// What plots in SVG are made of. Places are in pixels from the top left. Plain functions. Thread-safe: no
// state.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus::plots {

/// From values to places: equally far apart are equal differences, or equal ratios on a logarithmic axis,
/// whose values are above 0.
struct Axis {
  double low, high, from, to;
  bool logarithmic = false;
  double operator()(double value) const;
};

/// Round values within the axis, a handful.
std::vector<double> ticks(const Axis& axis);

/// A number for a label, with three decimals at most.
std::string label(double value);

/// `content` at (x, y), escaped; `more` are attributes of the element.
std::string text(double x, double y, std::string_view content, std::string_view more = "");

/// A line through the points, of which there may be one or none.
std::string path(const std::vector<std::pair<double, double>>& points, std::string_view colour,
                 std::string_view dashes = "none", std::string_view more = "");

/// A filled circle.
std::string dot(double x, double y, double radius, std::string_view colour);

/// The picture: `body` on white.
std::string picture(double width, double height, std::string_view body);

/// Throws Error, naming `op` and `flag`, unless `file` ends in .svg and is new or an earlier picture; `hint`
/// says what else one may do. Without a hint whatever is there may be replaced.
void check_picture_file(std::string_view op, std::string_view flag, const std::filesystem::path& file,
                        std::string_view hint);

}  // namespace gradus::plots

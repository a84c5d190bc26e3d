// Elements of plots in SVG. Places are in pixels from the top left. Plain functions. Thread-safe: no state.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/tools/plots/text/axis.hpp"

namespace gradus::plots {

/// The text `content` at (x, y), escaped; `more` are attributes of the element.
std::string text(double x, double y, std::string_view content, std::string_view more = "");

/// A line through any number of points.
std::string path(const std::vector<std::pair<double, double>>& points, std::string_view colour,
                 std::string_view dashes = "none", std::string_view more = "");

/// A filled circle.
std::string dot(double x, double y, double radius, std::string_view colour);

/// Both axes: grid lines and labels at the ticks of y, marks and labels at `x_ticks`.
std::string axes(const Axis& x, const Axis& y, const std::vector<double>& x_ticks);

/// An entry of a legend: a line in this style, and its name to the right.
std::string legend_entry(double x, double y, std::string_view name, std::string_view colour,
                         std::string_view dashes = "none", std::string_view more = "");

/// The picture: `body` on white.
std::string picture(double width, double height, std::string_view body);

/// Throws Error, naming `op` and `flag`, unless `file` ends in .svg and is new or an earlier picture; `hint`
/// completes the error. Without a hint any file may be replaced.
void check_picture_file(std::string_view op, std::string_view flag, const std::filesystem::path& file,
                        std::string_view hint);

}  // namespace gradus::plots

#include "gradus/tools/plots/svg.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::plots {
namespace {

// Every picture begins with these two parts, with its width and height between them.
constexpr std::string_view kBegin = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"";
constexpr std::string_view kStyle =
    "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
    "fill=\"white\"/>\n";

/// Char of XML 1.0, section 2.2.
bool is_of_xml(char32_t c) {
  return c < 0x20 ? c == '\t' || c == '\n' || c == '\r' : c != 0xFFFE && c != 0xFFFF;
}

/// Replaces characters that XML cannot hold by U+FFFD.
std::string escaped(std::string_view content) {
  std::string xml;
  while (!content.empty()) {
    const files::CodePoint c = files::first_code_point(content);
    const auto size = static_cast<size_t>(std::max(1, c.size));
    if (c.size == 0 || !is_of_xml(c.value))
      xml += "\xEF\xBF\xBD";
    else if (c.value == '<' || c.value == '>' || c.value == '&')
      xml += c.value == '<' ? "&lt;" : c.value == '>' ? "&gt;" : "&amp;";
    else
      xml += content.substr(0, size);
    content.remove_prefix(size);
  }
  return xml;
}

bool is_picture(std::string_view beginning) {
  return beginning.starts_with(kBegin) && beginning.substr(0, 256).find(kStyle) != beginning.npos;
}

}  // namespace

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

std::string axes(const Axis& x, const Axis& y, const std::vector<double>& x_ticks) {
  constexpr const char* kInk = "#444444";
  std::string svg;
  for (const double value : ticks(y))
    svg += path({{x.from, y(value)}, {x.to, y(value)}}, "#e4e4e4") +
           text(x.from - 6, y(value) + 4, label(value), "text-anchor=\"end\"");
  for (const double value : x_ticks)
    svg += path({{x(value), y.from}, {x(value), y.from + 4}}, kInk) +
           text(x(value), y.from + 18, label(value), "text-anchor=\"middle\"");
  return svg + path({{x.from, y.to}, {x.from, y.from}, {x.to, y.from}}, kInk);
}

std::string legend_entry(double x, double y, std::string_view name, std::string_view colour,
                         std::string_view dashes, std::string_view more) {
  return path({{x, y}, {x + 30, y}}, colour, dashes, more) + text(x + 38, y + 4, name);
}

std::string picture(double width, double height, std::string_view body) {
  return concat(kBegin, width, "\" height=\"", height, kStyle, body, "</svg>\n");
}

void check_picture_file(std::string_view op, std::string_view flag, const std::filesystem::path& file,
                        std::string_view hint) {
  if (file.extension() != ".svg")
    fail(op, flag, " must end in .svg, because the picture is SVG, got ", file, ".");
  if (!hint.empty()) files::check_replaceable(op, flag, file, is_picture, hint);
}

}  // namespace gradus::plots

#include "gradus/cli/program/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "gradus/files/utf8.hpp"

namespace gradus::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Terminal terminal_at(int descriptor) {
  const bool live = ::isatty(descriptor) && variable("TERM") != "dumb";
  winsize size{};
  (void)::ioctl(descriptor, TIOCGWINSZ, &size);
  return {live, live && variable("NO_COLOR").empty(), size.ws_col > 0 ? size.ws_col : 80,
          size.ws_row > 0 ? size.ws_row : 24};
}

/// The first character or escape sequence of a text that is not empty.
struct Piece {
  size_t size;
  int columns;
};

Piece first_piece(std::string_view text) {
  if (text.starts_with("\033[")) return {std::min(text.find('m'), text.size() - 1) + 1, 0};
  const files::CodePoint c = files::first_code_point(text);
  if (c.size == 0) return {1, 1};
  return {static_cast<size_t>(c.size), utf8proc_charwidth(static_cast<utf8proc_int32_t>(c.value))};
}

}  // namespace

Terminal standard_error() { return terminal_at(STDERR_FILENO); }

Terminal standard_output() { return terminal_at(STDOUT_FILENO); }

bool is_interactive() { return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0; }

PlainTerminal::PlainTerminal() {
  if (::isatty(STDOUT_FILENO) == 0) return;
  terminal_ = std::cout.rdbuf();
  std::cout.rdbuf(&plain_.emplace(*terminal_));
}

PlainTerminal::~PlainTerminal() {
  if (terminal_) std::cout.rdbuf(terminal_);
}

int columns_of(std::string_view text) {
  int columns = 0;
  for (size_t at = 0; at < text.size();) {
    const Piece piece = first_piece(text.substr(at));
    columns += piece.columns;
    at += piece.size;
  }
  return columns;
}

std::string_view fitting(std::string_view text, int columns) {
  size_t at = 0;
  while (at < text.size()) {
    const Piece piece = first_piece(text.substr(at));
    if ((columns -= piece.columns) < 0) break;
    at += piece.size;
  }
  return text.substr(0, at);
}

std::string decimals(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string short_number(double value) {
  if (value < 1e3) return decimals(value, 0);
  if (value < 1e6) return decimals(value / 1e3, 1) + "k";
  return decimals(value / 1e6, 1) + "M";
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::llround(seconds));
  char text[64];
  if (whole < 60)
    std::snprintf(text, sizeof text, "%lld s", whole);
  else if (whole < 3600)
    std::snprintf(text, sizeof text, "%lld min %02lld s", whole / 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
  return text;
}

std::string byte_size(double bytes) {
  if (bytes < 1e6) return decimals(bytes / 1e3, 0) + " kB";
  if (bytes < 1e9) return decimals(bytes / 1e6, 1) + " MB";
  return decimals(bytes / 1e9, 1) + " GB";
}

std::string grouped(int64_t value) {
  std::string text = std::to_string(value);
  for (int64_t i = static_cast<int64_t>(text.size()) - 3; i > (value < 0 ? 1 : 0); i -= 3)
    text.insert(static_cast<size_t>(i), 1, ',');
  return text;
}

std::string steps_text(int64_t steps) { return concat(grouped(steps), steps == 1 ? " step" : " steps"); }

std::string table(const std::vector<TableRow>& rows, const std::vector<size_t>& right, size_t widest) {
  std::vector<size_t> widths;
  const auto width = [](const std::string& cell) { return static_cast<size_t>(columns_of(cell)); };
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::min(widest, std::max(widths[i], width(row[i])));
  }
  std::string text;
  for (const TableRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool is_right = std::ranges::find(right, i) != right.end();
      const std::string space(widths[i] - std::min(widths[i], width(row[i])), ' ');
      text += (i == 0 ? "" : "  ") + (is_right ? space + row[i] : row[i] + space);
    }
    text.resize(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text + "\n";
}

}  // namespace gradus::cli

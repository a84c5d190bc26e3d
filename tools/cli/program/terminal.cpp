#include "gradus/tools/cli/program/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Terminal terminal_at(int descriptor) {
  const bool live = ::isatty(descriptor) && variable("TERM") != "dumb";
  winsize size{};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {live, live && variable("NO_COLOR").empty(), known ? size.ws_col : 80};
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

}  // namespace gradus::cli

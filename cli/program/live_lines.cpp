#include "gradus/cli/program/live_lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <utility>

#include "gradus/cli/program/terminal.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

std::atomic<bool> was_continued = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void on_continue(int) { was_continued = true; }

/// Whether this is the terminal's job in the foreground.
bool is_in_front() { return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp(); }

}  // namespace

LiveLines::LiveLines() : terminal_(std::cerr.rdbuf(&above_)), began_in_front_(is_in_front()) {
  was_continued = false;
  struct sigaction action = {};
  action.sa_handler = on_continue;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGCONT, &action, &before_);
}

LiveLines::~LiveLines() {
  clear();
  ::sigaction(SIGCONT, &before_, nullptr);
  std::cerr.rdbuf(terminal_);
}

void LiveLines::draw(const std::vector<std::string>& lines, int columns) {
  std::string bytes = to_first_line(columns);
  if (began_in_front_ && !is_in_front()) return;
  bytes += "\033[?7l";  // Lines that the terminal shows wider than expected are cut, not wrapped.
  for (const std::string& line : lines) {
    bytes += line + "\033[K\n";
    shown_.push_back(columns_of(line));
  }
  write(bytes + "\033[?7h\033[J");
}

void LiveLines::clear() {
  // Not all at once: tmux saves what is cleared from the top of the screen on in its history.
  if (const std::string bytes = to_first_line(standard_error().columns); !bytes.empty())
    write(bytes + "\033[K\n\033[J\033[A");
}

/// Moves the cursor there, and forgets the lines. Terminals break lines that are too long after a resize.
std::string LiveLines::to_first_line(int columns) {
  int rows = 0;
  for (const int line : std::exchange(shown_, {})) rows += std::max(1, (line + columns - 1) / columns);
  if (was_continued.exchange(false) || rows == 0) return "";
  return concat("\r\033[", rows, "A");
}

void LiveLines::write(const std::string& bytes) {
  terminal_->sputn(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  terminal_->pubsync();
}

LiveLines::Above::int_type LiveLines::Above::overflow(int_type c) {
  lines_.clear();
  return lines_.terminal_->sputc(traits_type::to_char_type(c));
}

std::streamsize LiveLines::Above::xsputn(const char* bytes, std::streamsize count) {
  lines_.clear();
  return lines_.terminal_->sputn(bytes, count);
}

}  // namespace gradus::cli

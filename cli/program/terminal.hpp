// Terminal: properties of the standard streams; times, numbers and tables for users. Thread-safe: no state.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {

struct Terminal {
  bool live;          ///< lines may be redrawn: it is a terminal, and TERM is not dumb
  bool colour;        ///< live, and NO_COLOR is not set
  int columns, rows;  ///< 80 and 24 if they are not known
};
Terminal standard_error();
Terminal standard_output();

/// Whether the standard input and the standard output are terminals.
bool is_interactive();

/// During its lifetime, control characters written to the standard output are escaped if that is a terminal.
/// Files and pipes get every byte.
class PlainTerminal {
 public:
  PlainTerminal();
  ~PlainTerminal();
  PlainTerminal(const PlainTerminal&) = delete;
  PlainTerminal& operator=(const PlainTerminal&) = delete;

 private:
  std::streambuf* terminal_ = nullptr;  // null: there is none
  std::optional<files::PlainBuffer> plain_;
};

/// The number of columns that a text takes in a terminal, without escape sequences of colours and styles.
int columns_of(std::string_view text);
/// The longest prefix of `text` that is at most `columns` columns wide.
std::string_view fitting(std::string_view text, int columns);

std::string decimals(double value, int digits);
/// 950, 38.2k, 1.2M.
std::string short_number(double value);
double seconds_since(std::chrono::steady_clock::time_point start);
/// 7 s, 3 min 05 s, 2 h 07 min.
std::string duration(double seconds);
/// 12 kB, 3.4 MB, 1.2 GB.
std::string byte_size(double bytes);
/// 2,000
std::string grouped(int64_t value);

/// "1 step", "2,000 steps".
std::string steps_text(int64_t steps);

/// A line of what a verb has found: "name        text".
template <class... Parts>
std::string fact(std::string_view name, const Parts&... parts) {
  constexpr size_t kName = 12;
  return concat(name, std::string(kName - std::min(kName, name.size()), ' '), parts..., "\n");
}

using TableRow = std::vector<std::string>;

/// Columns are as wide as their widest cell, at most `widest`, with two blanks in between. Columns whose
/// numbers are in `right` are aligned right. An empty line ends the table.
std::string table(const std::vector<TableRow>& rows, const std::vector<size_t>& right = {},
                  size_t widest = SIZE_MAX);

}  // namespace gradus::cli

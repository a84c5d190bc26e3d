// Terminal: how much may be done on the standard error stream, and numbers as people like to read them.
// Thread-safe: no state.
#pragma once

#include <cstdint>
#include <string>

namespace gradus::cli {

struct Terminal {
  bool live;    ///< lines may be redrawn: a terminal, and TERM is not dumb
  bool colour;  ///< live, and NO_COLOR is not set
  int columns;
};
Terminal standard_error();

std::string decimals(double value, int digits);
/// 950, 38.2k, 1.2M.
std::string short_number(double value);
/// 7 s, 3 min 05 s, 2 h 07 min.
std::string duration(double seconds);
/// 12 kB, 3.4 MB, 1.2 GB.
std::string byte_size(double bytes);
/// 2,000
std::string grouped(int64_t value);

}  // namespace gradus::cli

// CRC-32, the checksum of zip, gzip and PNG. It tells damage by accident (any that lies within 32 bits, and
// all but one in 2^32 of the rest) at the speed of memory, and can be had of each beginning of a file on the
// way to the whole; it is no protection against intent. Thread-safety: no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::files {

/// The checksum of the bytes whose checksum is `before`, followed by `bytes`.
uint32_t crc32(std::string_view bytes, uint32_t before = 0);

/// As eight lower-case hexadecimal digits.
std::string hex32(uint32_t value);

}  // namespace gradus::files

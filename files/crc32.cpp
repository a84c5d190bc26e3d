#include "gradus/files/crc32.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace gradus::files {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;  // of IEEE 802.3, lowest bit first
constexpr size_t kStride = 16;

using Table = std::array<uint32_t, 256>;

/// table[k][b]: what byte b, with k zero bytes after it, adds to the checksum. Sixteen bytes are then sixteen
/// look-ups that do not wait for one another.
constexpr std::array<Table, kStride> make_tables() {
  std::array<Table, kStride> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < kStride; ++k)
    for (size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xFF];
  return tables;
}

constexpr std::array<Table, kStride> kTables = make_tables();

uint32_t word_at(const unsigned char* bytes) {
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

/// What four bytes add that have `after` bytes behind them.
uint32_t add_word(uint32_t word, size_t after) {
  return kTables[after + 3][word & 0xFF] ^ kTables[after + 2][word >> 8 & 0xFF] ^
         kTables[after + 1][word >> 16 & 0xFF] ^ kTables[after][word >> 24];
}

}  // namespace

uint32_t crc32(std::string_view bytes, uint32_t before) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t left = bytes.size();
  uint32_t crc = ~before;
  for (; left >= kStride; left -= kStride, p += kStride)
    crc = add_word(crc ^ word_at(p), 12) ^ add_word(word_at(p + 4), 8) ^ add_word(word_at(p + 8), 4) ^
          add_word(word_at(p + 12), 0);
  for (; left > 0; --left, ++p) crc = crc >> 8 ^ kTables[0][(crc ^ *p) & 0xFF];
  return ~crc;
}

std::string hex32(uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(value));
  return text;
}

}  // namespace gradus::files

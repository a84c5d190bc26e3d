// CRC-32 and SHA-256. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::files {

/// CRC-32, the checksum of zip, gzip and PNG, of the bytes with the checksum `before` followed by `bytes`. It
/// detects accidental damage, not intended changes.
uint32_t crc32(std::string_view bytes, uint32_t before = 0);

/// Eight lower-case hexadecimal digits.
std::string hex32(uint32_t value);

/// SHA-256 (FIPS 180-4) of bytes that are given in pieces.
class Sha256 {
 public:
  void add(std::string_view bytes);  ///< adds the next piece
  std::string digest() const;        ///< 64 lower-case hexadecimal digits

 private:
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t size_ = 0;  // bytes
  std::string rest_;   // the last bytes, fewer than a chunk
};

/// The digest of `bytes`, as sha256sum prints it.
std::string sha256(std::string_view bytes);

}  // namespace gradus::files

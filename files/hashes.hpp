// CRC-32 and SHA-256. Thread-safe: no state; a Sha256 is a plain value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::files {

/// CRC-32, the checksum of zip, gzip and PNG: that of the bytes whose checksum is `before`, followed by
/// `bytes`. It detects accidental damage (all errors within 32 bits, and all but one in 2^32 others) at the
/// speed of memory; it does not protect against intent.
uint32_t crc32(std::string_view bytes, uint32_t before = 0);

/// The value as eight lower-case hexadecimal digits.
std::string hex32(uint32_t value);

/// SHA-256 (FIPS 180-4) of bytes that are added in pieces.
class Sha256 {
 public:
  void add(std::string_view bytes);  ///< the next piece
  std::string digest() const;        ///< of all bytes, as 64 lower-case hexadecimal digits

 private:
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t size_ = 0;  // bytes
  std::string rest_;   // the last of them, fewer than a block
};

/// The digest of `bytes` as 64 lower-case hexadecimal digits, as sha256sum prints it.
std::string sha256(std::string_view bytes);

}  // namespace gradus::files

// SHA-256 (FIPS 180-4), to tell a damaged copy of a corpus. Sha256 is a plain value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::files {

/// The digest of bytes that come a piece at a time.
class Sha256 {
 public:
  void add(std::string_view bytes);  ///< the next piece
  std::string digest() const;        ///< of all that was added, as 64 lower-case hexadecimal digits

 private:
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t size_ = 0;  // bytes
  std::string rest_;   // of them, less than a block
};

/// The digest of `bytes` as 64 lower-case hexadecimal digits, as sha256sum prints it.
std::string sha256(std::string_view bytes);

}  // namespace gradus::files

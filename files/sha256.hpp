// SHA-256 (FIPS 180-4), to tell a damaged copy of a corpus. Thread-safety: no state.
#pragma once

#include <string>
#include <string_view>

namespace gradus::files {

/// The digest of `bytes` as 64 lower-case hexadecimal digits, as sha256sum prints it.
std::string sha256(std::string_view bytes);

}  // namespace gradus::files

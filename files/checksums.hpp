// Checksums: the list of what the files of a folder hold, which tells a damaged one and where its damage
// begins.
//
// The list is a file of the folder, checksums.sfv, in the format of cksfv and rhash: a line for each file,
// its name and its CRC-32; comments begin with a semicolon. Comments name places within files, with the
// checksum up to there, and the last one is the checksum of the list itself. A plain value; not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::files {

/// The name of the list in its folder.
inline constexpr const char* kChecksumList = "checksums.sfv";
/// The next list, while files take their places; and after, if that was cut off.
inline constexpr const char* kStagedChecksumList = "checksums.sfv.tmp";

/// What a file holds: the checksum of all of it, and of its beginning up to the end of each named part.
struct FileChecksum {
  /// A beginning of the file.
  struct Part {
    std::string name;    ///< of what ends there, for errors
    uint64_t end = 0;    ///< bytes from the beginning of the file
    uint32_t crc32 = 0;  ///< of all bytes before `end`
    bool operator==(const Part&) const = default;
  };
  uint32_t crc32 = 0;            ///< of the whole file
  std::vector<Part> parts = {};  ///< in their order in the file
  bool operator==(const FileChecksum&) const = default;
};

/// By the name of the file.
using Checksums = std::map<std::string, FileChecksum>;

/// The text of checksums.sfv.
std::string to_text(const Checksums& checksums);
/// What to_text() wrote; `file` is named in errors. Throws Error for anything else, a changed byte included.
Checksums checksums_from_text(std::string_view text, const std::filesystem::path& file);

/// Reads the stream to its end and compares. Throws Error, naming the file and the first part that differs.
void verify(std::istream& stream, const FileChecksum& expected, const std::filesystem::path& file);
/// The same for a file that is in memory.
void verify(std::string_view bytes, const FileChecksum& expected, const std::filesystem::path& file);

}  // namespace gradus::files

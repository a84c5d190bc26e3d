// Zip archives (PKWARE's APPNOTE.TXT 6.3) for reading, from any source: stored and deflated files, zip64.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "gradus/files/file.hpp"

namespace gradus::foreign {

/// An archive, which stays open. Reads its directory, and each file when it is asked for. Thread-safe.
class ZipFile {
 public:
  /// Place and size of a file.
  struct Entry {
    uint64_t begin = 0, stored = 0;  ///< of its bytes in the archive
    uint64_t bytes = 0;              ///< of its content
    uint32_t crc32 = 0;              ///< of its content
    bool is_deflated = false;        ///< whether it is compressed
  };

  /// Throws Error, naming the path, unless it is an archive whose files lie apart from each other, are
  /// neither encrypted nor compressed by another method, and have sizes that deflate can reach.
  explicit ZipFile(const std::filesystem::path& path);

  const std::map<std::string, Entry>& entries() const { return entries_; }  ///< by name, without folders
  /// The content of an entry, or its first `most` bytes. Throws Error if it is damaged, unless it is a part.
  std::string read(const std::string& name, uint64_t most = std::numeric_limits<uint64_t>::max()) const;
  /// The content of an entry that is no tensor. Throws Error also if it is many times its stored size.
  std::string read_text(const std::string& name) const;

 private:
  struct Directory {
    uint64_t begin, count;  ///< its place in the archive, and the number of files
    std::string headers;    ///< one for each file
  };
  Directory read_directory() const;
  /// Adds the file of this header. Returns where its bytes with their own header begin and end.
  std::pair<uint64_t, uint64_t> add_entry(const Directory& directory, std::string_view header);
  std::string bytes(uint64_t begin, uint64_t count) const;
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const;

  files::StableFile file_;
  std::map<std::string, Entry> entries_;
};

}  // namespace gradus::foreign

// Tokens: token numbers, in memory or in a file that stays on disk, however large.
//
// The file is nanoGPT's .bin: numbers of 16 bits, little-endian, and nothing else.
//
// A handle; copies share what they hold. Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace gradus::data {

class Tokens {
 public:
  static constexpr int64_t kMostInFile = 65'536;  ///< token numbers that 16 bits tell apart

  Tokens() = default;                   ///< none
  Tokens(std::vector<int32_t> tokens);  ///< in memory (NOLINT: a list is tokens)
  /// Those of a file, which is read once to see that all are below `vocab_size`, and later where it is asked
  /// for. Throws Error, naming the file and the place, if one is not, or it is empty, odd in bytes or cannot
  /// be read.
  static Tokens open(const std::filesystem::path& file, int64_t vocab_size);

  int64_t size() const { return end_ - begin_; }  ///< how many there are
  bool empty() const { return size() == 0; }      ///< whether there are none
  /// Copies `count` of them from `first` on. Throws files::ReadFailed if the file has changed.
  void copy(int64_t first, int64_t count, int64_t* to) const;
  /// Those from `first` up to, and without, `last`; nothing is copied.
  Tokens part(int64_t first, int64_t last) const;
  /// All of them, in memory. Throws as copy().
  std::vector<int32_t> values() const;

 private:
  class Store;
  class MemoryStore;
  class FileStore;
  std::shared_ptr<const Store> store_;
  int64_t begin_ = 0, end_ = 0;
};

/// The checksum of files as they lie there, joined: what `cat FILE... | sha256sum` prints. Throws Error,
/// naming the file, if one cannot be read.
std::string sha256_of_files(const std::vector<std::filesystem::path>& paths);

/// The bytes of such a file. Throws Error for a token of kMostInFile or more.
std::string token_bytes(const std::vector<int32_t>& tokens);

}  // namespace gradus::data

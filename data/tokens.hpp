// Tokens: token numbers in memory, or in a file of any size that is read as needed. The file is nanoGPT's
// .bin: numbers of 16 bits, or of 32 if the vocabulary has more than 65,536 tokens, little-endian, without a
// header; or llm.c's, which has one.
//
// A handle; copies share the memory or the file. Immutable, so thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gradus::files {
class StableFile;
}

namespace gradus::data {

class Tokens {
 public:
  static constexpr int64_t kMost16 = 65'536;  ///< vocabulary size that 16 bits can represent

  Tokens() = default;                   ///< no tokens
  Tokens(std::vector<int32_t> tokens);  ///< in memory (NOLINT: a list is tokens)
  /// Copies `count` tokens from `first` on.
  using Copy = std::function<void(int64_t first, int64_t count, int64_t* to)>;
  Tokens(int64_t size, Copy copy) : copy_(std::move(copy)), end_(size) {}  ///< those that `copy` copies
  /// The tokens of a file. Reads it once to check that all are below `vocab_size`; copy() reads it later.
  /// Numbers of which every second is 0, but not all, have twice as many bits, up to 64. Throws Error, naming
  /// the file and the place, for another token, and for a file that is empty, unreadable or cut in a number.
  static Tokens open(const std::filesystem::path& path, int64_t vocab_size);
  /// Takes the next tokens of a file.
  using Add = std::function<void(const std::vector<int32_t>& tokens)>;
  /// Replaces a file by the tokens that `write` adds, below `vocab_size`. Each number has the fewest bits,
  /// 16, 32 or 64, as which open() reads the file. Throws RunError as files::write_atomically().
  static Tokens write(const std::filesystem::path& path, int64_t vocab_size,
                      const std::function<void(const Add&)>& write);

  int64_t size() const { return end_ - begin_; }  ///< number of tokens
  bool empty() const { return size() == 0; }      ///< whether there are none
  int bits() const { return bits_; }              ///< of a number in the file: 16, 32 or 64
  /// Copies `count` tokens from `first` on. Throws files::ReadFailed if the file has changed.
  void copy(int64_t first, int64_t count, int64_t* to) const;
  /// The tokens [first, last), without a copy.
  Tokens part(int64_t first, int64_t last) const;
  /// All tokens, in memory. Throws as copy().
  std::vector<int32_t> values() const;

 private:
  /// The numbers of `width` bytes from the offset `begin` on.
  Tokens(std::shared_ptr<const files::StableFile> file, int64_t begin, int64_t width);

  Copy copy_;  // from the whole text
  int64_t begin_ = 0, end_ = 0;
  int bits_ = 32;
};

/// The checksum of the concatenated files, as `cat FILE... | sha256sum` prints it. Throws Error, naming the
/// file, if one cannot be read.
std::string sha256_of_files(const std::vector<std::filesystem::path>& paths);

}  // namespace gradus::data

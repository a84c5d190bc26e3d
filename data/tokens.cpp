#include "gradus/data/tokens.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/hashes.hpp"

namespace gradus::data {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in the file");

constexpr int64_t kWidth = sizeof(uint16_t);
constexpr int64_t kPiece = 1 << 19;  // tokens or bytes that are looked at together

files::StableFile open_file(const std::filesystem::path& file) {
  try {
    return files::StableFile(file);
  } catch (const files::Unreadable& e) {
    fail("tokens", file, " must be a file of token numbers, got '", e.reason(), "'.");
  }
}

}  // namespace

class Tokens::Store {
 public:
  virtual ~Store() = default;
  virtual void copy(int64_t first, int64_t count, int64_t* to) const = 0;
};

class Tokens::MemoryStore : public Store {
 public:
  explicit MemoryStore(std::vector<int32_t> tokens) : tokens_(std::move(tokens)) {}
  void copy(int64_t first, int64_t count, int64_t* to) const override {
    std::copy_n(tokens_.begin() + first, count, to);
  }

 private:
  std::vector<int32_t> tokens_;
};

class Tokens::FileStore : public Store {
 public:
  explicit FileStore(const std::filesystem::path& file) : file_(open_file(file)) {}
  const files::StableFile& file() const { return file_; }
  void copy(int64_t first, int64_t count, int64_t* to) const override {
    // Into the second half of the room, from where widening overtakes nothing that is still to be read.
    auto* narrow = reinterpret_cast<char*>(to) + count * (static_cast<int64_t>(sizeof(int64_t)) - kWidth);
    file_.read(first * kWidth, narrow, count * kWidth);
    for (int64_t i = 0; i < count; ++i) {
      uint16_t token = 0;
      std::memcpy(&token, narrow + i * kWidth, sizeof token);
      to[i] = token;
    }
  }

 private:
  files::StableFile file_;
};

Tokens::Tokens(std::vector<int32_t> tokens) : end_(static_cast<int64_t>(tokens.size())) {
  store_ = std::make_shared<MemoryStore>(std::move(tokens));
}

Tokens Tokens::open(const std::filesystem::path& file, int64_t vocab_size) {
  const auto store = std::make_shared<FileStore>(file);
  const int64_t bytes = store->file().size();
  if (bytes == 0 || bytes % kWidth != 0)
    fail("tokens", file, " must have token numbers of 2 bytes each, got ", bytes, " bytes.");
  Tokens tokens;
  tokens.store_ = store;
  tokens.end_ = bytes / kWidth;
  std::vector<int64_t> piece(static_cast<size_t>(std::min(kPiece, tokens.end_)));
  for (int64_t at = 0; at < tokens.end_; at += kPiece) {
    const int64_t count = std::min(kPiece, tokens.end_ - at);
    tokens.copy(at, count, piece.data());
    const auto end = piece.begin() + count;
    const auto wrong = std::find_if(piece.begin(), end, [&](int64_t token) { return token >= vocab_size; });
    if (wrong != end)
      fail("tokens", file, " must have token numbers below the tokenizer's ", vocab_size, ", got ", *wrong,
           " as token ", at + (wrong - piece.begin()),
           ", counted from 0. Hint: use the tokenizer that made it.");
  }
  return tokens;
}

void Tokens::copy(int64_t first, int64_t count, int64_t* to) const {
  if (count > 0) store_->copy(begin_ + first, count, to);
}

Tokens Tokens::part(int64_t first, int64_t last) const {
  Tokens part = *this;
  part.begin_ = begin_ + first;
  part.end_ = begin_ + last;
  return part;
}

std::vector<int32_t> Tokens::values() const {
  std::vector<int64_t> wide(static_cast<size_t>(size()));
  copy(0, size(), wide.data());
  return {wide.begin(), wide.end()};
}

std::string sha256_of_files(const std::vector<std::filesystem::path>& paths) {
  files::Sha256 sum;
  std::vector<char> piece(kPiece);
  for (const std::filesystem::path& path : paths) {
    const files::StableFile file = open_file(path);
    for (int64_t at = 0; at < file.size(); at += kPiece) {
      const int64_t count = std::min(kPiece, file.size() - at);
      file.read(at, piece.data(), count);
      sum.add({piece.data(), static_cast<size_t>(count)});
    }
  }
  return sum.digest();
}

std::string token_bytes(const std::vector<int32_t>& tokens) {
  std::string bytes(tokens.size() * kWidth, '\0');
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= Tokens::kMostInFile)
      fail("tokens", "token numbers must be below ", Tokens::kMostInFile, " for a file of 16 bits each, got ",
           tokens[i], ".");
    const auto narrow = static_cast<uint16_t>(tokens[i]);
    std::memcpy(bytes.data() + i * kWidth, &narrow, sizeof narrow);
  }
  return bytes;
}

}  // namespace gradus::data

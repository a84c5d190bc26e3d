#include "gradus/data/tokens.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/hashes.hpp"

namespace gradus::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the file has the byte order of memory");

constexpr int64_t kWidth = sizeof(uint16_t);
constexpr int64_t kPiece = 1 << 19;  // tokens or bytes per read

std::shared_ptr<const files::StableFile> open_file(const std::filesystem::path& file) {
  try {
    return std::make_shared<const files::StableFile>(file);
  } catch (const files::Unreadable& e) {
    fail("tokens", file, " must be a file of token numbers, got '", e.reason(), "'.");
  }
}

}  // namespace

Tokens::Tokens(std::vector<int32_t> tokens) : end_(static_cast<int64_t>(tokens.size())) {
  copy_ = [all = std::make_shared<const std::vector<int32_t>>(std::move(tokens))](
              int64_t first, int64_t count, int64_t* to) { std::copy_n(all->begin() + first, count, to); };
}

Tokens Tokens::open(const std::filesystem::path& path, int64_t vocab_size) {
  const auto file = open_file(path);
  const int64_t bytes = file->size();
  if (bytes == 0 || bytes % kWidth != 0)
    fail("tokens", path, " must have token numbers of 2 bytes each, got ", bytes, " bytes.");
  Tokens tokens;
  tokens.end_ = bytes / kWidth;
  tokens.copy_ = [file](int64_t first, int64_t count, int64_t* to) {
    // Reads the 16-bit numbers into the end of the memory of the 64-bit ones, so that widening overwrites
    // none before it is read.
    auto* narrow = reinterpret_cast<char*>(to) + count * (static_cast<int64_t>(sizeof(int64_t)) - kWidth);
    file->read(first * kWidth, narrow, count * kWidth);
    for (int64_t i = 0; i < count; ++i) {
      uint16_t token = 0;
      std::memcpy(&token, narrow + i * kWidth, sizeof token);
      to[i] = token;
    }
  };
  std::vector<int64_t> piece(static_cast<size_t>(std::min(kPiece, tokens.end_)));
  for (int64_t at = 0; at < tokens.end_; at += kPiece) {
    const int64_t count = std::min(kPiece, tokens.end_ - at);
    tokens.copy(at, count, piece.data());
    const auto end = piece.begin() + count;
    const auto wrong = std::find_if(piece.begin(), end, [&](int64_t token) { return token >= vocab_size; });
    if (wrong != end)
      fail("tokens", path, " must have token numbers below the tokenizer's ", vocab_size, ", got ", *wrong,
           " as token ", at + (wrong - piece.begin()),
           ", counted from 0. Hint: use the tokenizer that made it.");
  }
  return tokens;
}

void Tokens::copy(int64_t first, int64_t count, int64_t* to) const {
  if (count > 0) copy_(begin_ + first, count, to);
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
    const auto file = open_file(path);
    for (int64_t at = 0; at < file->size(); at += kPiece) {
      const int64_t count = std::min(kPiece, file->size() - at);
      file->read(at, piece.data(), count);
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

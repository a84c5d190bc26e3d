#include "gradus/data/tokens.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the file has the byte order of memory");

constexpr int64_t kPiece = 1 << 19;  // tokens or bytes per read

std::shared_ptr<const files::StableFile> open_file(const std::filesystem::path& file) {
  try {
    return std::make_shared<const files::StableFile>(file);
  } catch (const files::Unreadable& e) {
    fail("tokens", file, " must be a file of token numbers, got '", e.reason(), "'.");
  }
}

/// Bytes of a number in a file for a vocabulary of this size.
int64_t width_of(int64_t vocab_size) { return vocab_size > Tokens::kMost16 ? 4 : 2; }

/// Whether every second number of a file is 0, but not all, if numbers have this many bytes.
bool has_wider_numbers(const files::StableFile& file, int64_t width) {
  constexpr int64_t kFewest = 16;  // bytes; less do not tell
  if (file.size() < kFewest || file.size() % width != 0) return false;
  std::vector<char> piece(kPiece);  // a multiple of all widths
  bool some = false;
  for (int64_t at = 0; at < file.size(); at += kPiece) {
    const int64_t count = std::min(kPiece, file.size() - at);
    file.read(at, piece.data(), count);
    for (int64_t i = 0; i < count; ++i) {
      if (piece[static_cast<size_t>(i)] == 0) continue;
      if (i / width % 2 != 0) return false;
      some = true;
    }
  }
  return some;
}

/// Describes a file that is a text or an array of NumPy, whose bytes could pass for numbers; "" for others.
std::string_view other_format(const files::StableFile& file) {
  constexpr std::string_view kNumpy = "\x93NUMPY";
  std::string begin(static_cast<size_t>(std::min<int64_t>(file.size(), 4096)), '\0');
  file.read(0, begin.data(), std::ssize(begin));
  const auto is_of_text = [](unsigned char c) { return (c >= ' ' && c != 0x7F) || (c >= '\t' && c <= '\r'); };
  const bool is_text =
      begin.size() >= 8 && std::ranges::all_of(begin, is_of_text) &&
      files::is_utf8(std::string_view(begin).substr(0, begin.size() - files::unfinished(begin)));
  if (begin.starts_with(kNumpy)) return "a file of NumPy. Hint: array.tofile(path) writes the numbers alone.";
  return is_text ? "a text." : "";
}

using Layout = std::pair<int64_t, int64_t>;

/// The offset of the first number of a file, and the bytes of each number. The header of llm.c has 256
/// numbers of 32 bits: a kind, a version and the number of tokens. If the file does not have that many
/// tokens, the second value is 0.
Layout layout_of(const files::StableFile& file, int64_t vocab_size) {
  constexpr int64_t kHeader = 1024;
  static constexpr std::array<int64_t, 3> kKinds[] = {{20240520, 1, 2}, {20240801, 7, 4}};
  int32_t header[3] = {};
  if (file.size() > kHeader) file.read(0, reinterpret_cast<char*>(header), sizeof header);
  for (const auto& [kind, version, width] : kKinds)
    if (header[0] == kind && header[1] == version)
      return {kHeader, file.size() == kHeader + header[2] * width ? width : 0};
  int64_t width = width_of(vocab_size);
  while (width < 8 && has_wider_numbers(file, width)) width *= 2;
  return {0, width};
}

/// The numbers of that many bytes.
std::string bytes_of(const std::vector<int32_t>& tokens, int64_t width) {
  std::string bytes(tokens.size() * static_cast<size_t>(width), '\0');
  for (size_t i = 0; i < tokens.size(); ++i)
    std::memcpy(bytes.data() + i * static_cast<size_t>(width), &tokens[i],
                static_cast<size_t>(std::min<int64_t>(width, sizeof tokens[i])));
  return bytes;
}

}  // namespace

Tokens::Tokens(std::vector<int32_t> tokens) : end_(static_cast<int64_t>(tokens.size())) {
  copy_ = [all = std::make_shared<const std::vector<int32_t>>(std::move(tokens))](
              int64_t first, int64_t count, int64_t* to) { std::copy_n(all->begin() + first, count, to); };
}

Tokens::Tokens(std::shared_ptr<const files::StableFile> file, int64_t begin, int64_t width)
    : end_((file->size() - begin) / width), bits_(static_cast<int>(8 * width)) {
  copy_ = [file = std::move(file), begin, width](int64_t first, int64_t count, int64_t* to) {
    // Reads the numbers into the end of the memory of the 64-bit ones, so that widening overwrites none
    // before it is read.
    auto* narrow = reinterpret_cast<char*>(to) + count * (static_cast<int64_t>(sizeof(int64_t)) - width);
    file->read(begin + first * width, narrow, count * width);
    for (int64_t i = 0; i < count; ++i) {
      uint64_t token = 0;
      std::memcpy(&token, narrow + i * width, static_cast<size_t>(width));
      to[i] = static_cast<int64_t>(token);
    }
  };
}

Tokens Tokens::open(const std::filesystem::path& path, int64_t vocab_size) {
  const auto file = open_file(path);
  if (const std::string_view other = other_format(*file); !other.empty())
    fail("tokens", path, " must be token numbers and nothing else, got ", other);
  const auto [begin, width] = layout_of(*file, vocab_size);
  const int64_t bytes = file->size() - begin;
  if (width == 0)
    fail("tokens", path, " must have the tokens that its header of llm.c announces, got ", bytes,
         " bytes after it.");
  if (bytes <= 0 || bytes % width != 0)
    fail("tokens", path, " must have token numbers of ", width, " bytes each, got ", bytes, " bytes.");
  const Tokens tokens(file, begin, width);
  std::vector<int64_t> piece(static_cast<size_t>(std::min(kPiece, tokens.end_)));
  for (int64_t at = 0; at < tokens.end_; at += kPiece) {
    const int64_t count = std::min(kPiece, tokens.end_ - at);
    tokens.copy(at, count, piece.data());
    const auto end = piece.begin() + count;
    const auto wrong =
        std::find_if(piece.begin(), end, [&](int64_t token) { return token < 0 || token >= vocab_size; });
    if (wrong != end)
      fail("tokens", path, " must have token numbers below the tokenizer's ", vocab_size, ", got ", *wrong,
           " as token ", at + (wrong - piece.begin()),
           ", counted from 0. Hint: use the tokenizer that made it.");
  }
  return tokens;
}

Tokens Tokens::write(const std::filesystem::path& path, int64_t vocab_size,
                     const std::function<void(const Add&)>& write) {
  Tokens written;
  for (int64_t width = width_of(vocab_size);; width *= 2) {
    files::StagedFile staged(path);  // in place of the narrower numbers, which stay open
    const Add add = [&](const std::vector<int32_t>& tokens) { staged << bytes_of(tokens, width); };
    if (written.empty()) write(add);
    for (int64_t at = 0; at < written.size(); at += kPiece)
      add(written.part(at, std::min(at + kPiece, written.size())).values());
    staged.finish();
    const auto file = open_file(staged.temporary());
    written = Tokens(file, 0, width);
    if (width < 8 && !(other_format(*file).empty() && layout_of(*file, vocab_size) == Layout(0, width)))
      continue;
    staged.put_in_place();
    files::sync_folder(path.parent_path());
    return written;
  }
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

}  // namespace gradus::data

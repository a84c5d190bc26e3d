#include "gradus/files/checksums.hpp"

#include <algorithm>
#include <istream>
#include <sstream>

#include "gradus/files/crc32.hpp"
#include "gradus/files/error.hpp"

namespace gradus::files {
namespace {

constexpr std::string_view kTitle =
    "; CRC-32 of each file, and of its beginning up to the end of each part\n";
constexpr std::string_view kPart = ";   ";
constexpr std::string_view kAnswer =
    " Hint: take it from a copy; if it was changed on purpose, remove checksums.sfv beside it.";

std::string last_line(std::string_view above) {
  return concat("; ", hex32(crc32(above)), " is the CRC-32 of the lines above\n");
}

/// A name as it may stand in a line.
std::string on_one_line(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  return name;
}

/// Follows the bytes of a file from its beginning, and complains about the first part that differs.
class Verifier {
 public:
  Verifier(const FileChecksum& expected, const std::filesystem::path& file)
      : expected_(expected), file_(file) {}

  void add(std::string_view bytes) {
    for (; next_ < expected_.parts.size(); ++next_) {
      const uint64_t end = expected_.parts[next_].end;
      if (end < size_ || end - size_ > bytes.size()) break;
      const size_t inside = end - size_;
      take(bytes.substr(0, inside));
      bytes.remove_prefix(inside);
      if (crc32_ != expected_.parts[next_].crc32) refuse();
    }
    take(bytes);
  }

  void finish() const {
    if (next_ < expected_.parts.size() || crc32_ != expected_.crc32) refuse();
  }

 private:
  void take(std::string_view bytes) {
    crc32_ = crc32(bytes, crc32_);
    size_ += bytes.size();
  }
  [[noreturn]] void refuse() const {
    const std::string where = next_ < expected_.parts.size() ? " in " + expected_.parts[next_].name : "";
    fail("checksum", file_.string(), " must have the bytes that were saved, got others", where, ".", kAnswer);
  }

  const FileChecksum& expected_;
  const std::filesystem::path& file_;
  uint64_t size_ = 0;
  uint32_t crc32_ = 0;
  size_t next_ = 0;  // of expected_.parts
};

uint32_t number_from_hex(const std::string& text) {
  uint32_t value = 0;
  std::istringstream(text) >> std::hex >> value;
  return value;
}

/// Reads what to_text() wrote. Other text gives other checksums than it says, which the caller looks for.
Checksums parse(std::string_view text) {
  Checksums checksums;
  std::istringstream lines{std::string(text)};
  FileChecksum* file = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (file && line.starts_with(kPart)) {
      std::istringstream words(line.substr(kPart.size()));
      FileChecksum::Part part;
      std::string crc;
      words >> part.end >> crc;
      words.ignore();
      std::getline(words, part.name);
      part.crc32 = number_from_hex(crc);
      file->parts.push_back(std::move(part));
    } else if (const size_t space = line.rfind(' '); !line.starts_with(';') && space != line.npos) {
      file = &checksums[line.substr(0, space)];
      file->crc32 = number_from_hex(line.substr(space + 1));
    }
  }
  return checksums;
}

}  // namespace

std::string to_text(const Checksums& checksums) {
  std::string text(kTitle);
  for (const auto& [name, file] : checksums) {
    text += concat(on_one_line(name), " ", hex32(file.crc32), "\n");
    for (const FileChecksum::Part& part : file.parts)
      text += concat(kPart, part.end, " ", hex32(part.crc32), " ", on_one_line(part.name), "\n");
  }
  return text + last_line(text);
}

Checksums checksums_from_text(std::string_view text, const std::filesystem::path& file) {
  Checksums checksums = parse(text);
  const auto leads_away = [](const auto& entry) { return entry.first.find('/') != std::string::npos; };
  if (to_text(checksums) != text || std::any_of(checksums.begin(), checksums.end(), leads_away))
    fail("checksum", file.string(), " must be the list that was saved, got another.", kAnswer);
  return checksums;
}

void verify(std::istream& stream, const FileChecksum& expected, const std::filesystem::path& file) {
  Verifier verifier(expected, file);
  std::vector<char> piece(1 << 20);
  while (stream.read(piece.data(), static_cast<std::streamsize>(piece.size())), stream.gcount() > 0)
    verifier.add({piece.data(), static_cast<size_t>(stream.gcount())});
  if (stream.bad()) fail("checksum", file.string(), " must be readable, got an error of the disk.");
  verifier.finish();
}

void verify(std::string_view bytes, const FileChecksum& expected, const std::filesystem::path& file) {
  Verifier verifier(expected, file);
  verifier.add(bytes);
  verifier.finish();
}

}  // namespace gradus::files

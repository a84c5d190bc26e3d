#include "gradus/annexes/formats/foreign/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "gradus/files/hashes.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::foreign {

using files::in_quotes, files::plain;

namespace {

static_assert(std::endian::native == std::endian::little, "the archive has the byte order of memory");

constexpr uint64_t kEndBytes = 22, kLongestComment = 0xFFFF, kHeaderBytes = 46, kLocalBytes = 30;
constexpr uint64_t kLongestDirectory = 100'000'000;
constexpr uint64_t kDeflateMost = 1032;  // bytes of content for one byte that is stored
constexpr uint64_t kTextMost = 20, kShortText = 1 << 16;

/// The number at `offset`; 0 beyond the end.
template <class T>
T number_at(std::string_view bytes, uint64_t offset) {
  T value = 0;
  if (bytes.size() >= sizeof value && offset <= bytes.size() - sizeof value)
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The first `count` bytes of the content; fewer if it ends or is damaged.
std::string inflated(std::string_view stored, uint64_t count) {
  std::string text(count, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  uint64_t read = 0, done = 0;
  for (int result = Z_OK; result == Z_OK && done < count;) {
    constexpr uint64_t kPiece = 1 << 30;  // zlib counts in 32 bits
    const uint64_t in = std::min<uint64_t>(stored.size() - read, kPiece),
                   out = std::min(count - done, kPiece);
    stream.avail_in = static_cast<uInt>(in);
    stream.avail_out = static_cast<uInt>(out);
    result = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    done += out - stream.avail_out;
  }
  inflateEnd(&stream);
  text.resize(done);
  return text;
}

}  // namespace

template <class... Parts>
void ZipFile::refuse(const Parts&... parts) const {
  fail("zip", plain(file_.path().string()), ": ", parts...);
}

std::string ZipFile::bytes(uint64_t begin, uint64_t count) const {
  const auto size = static_cast<uint64_t>(file_.size());
  if (begin > size || count > size - begin)
    refuse("must have ", count, " bytes at ", begin, ", got a file of ", size,
           " bytes. Hint: the file was cut short.");
  std::string text(count, '\0');
  file_.read(static_cast<int64_t>(begin), text.data(), static_cast<int64_t>(count));
  return text;
}

ZipFile::Directory ZipFile::read_directory() const {
  const auto size = static_cast<uint64_t>(file_.size());
  const uint64_t tail_begin = size - std::min(size, kEndBytes + kLongestComment);
  const std::string tail = bytes(tail_begin, size - tail_begin);
  const auto is_end = [&](uint64_t at) {
    return number_at<uint32_t>(tail, at) == 0x06054b50 &&
           number_at<uint16_t>(tail, at + 20) == tail.size() - at - kEndBytes;
  };
  uint64_t end = tail.size() - std::min<uint64_t>(tail.size(), kEndBytes);
  while (end > 0 && !is_end(end)) --end;
  if (tail.size() < kEndBytes || !is_end(end))
    refuse("must end with the directory of a zip archive, got none. Hint: the file was cut short.");
  uint64_t count = number_at<uint16_t>(tail, end + 10), length = number_at<uint32_t>(tail, end + 12),
           begin = number_at<uint32_t>(tail, end + 16), limit = tail_begin + end;
  if (end >= 20 && number_at<uint32_t>(tail, end - 20) == 0x07064b50) {  // zip64
    limit = number_at<uint64_t>(tail, end - 12);
    const std::string wide = bytes(limit, 56);
    count = number_at<uint64_t>(wide, 32);
    length = number_at<uint64_t>(wide, 40);
    begin = number_at<uint64_t>(wide, 48);
  }
  if (length > kLongestDirectory || begin > limit || length > limit - begin || count > length / kHeaderBytes)
    refuse("must have a directory of at most ", kLongestDirectory, " bytes before its end, got ", count,
           " files in ", length, " bytes at ", begin, ".");
  return {begin, count, bytes(begin, length)};
}

std::pair<uint64_t, uint64_t> ZipFile::add_entry(const Directory& directory, std::string_view header) {
  const auto word = [&](uint64_t offset) { return number_at<uint16_t>(header, offset); };
  const auto wide = [&](uint64_t offset) { return uint64_t{number_at<uint32_t>(header, offset)}; };
  const std::string name(header.substr(kHeaderBytes, word(28)));
  const auto refuse_entry = [&](const auto&... parts) { refuse(in_quotes(name), " must ", parts...); };
  Entry entry{.stored = wide(20),
              .bytes = wide(24),
              .crc32 = number_at<uint32_t>(header, 16),
              .is_deflated = word(10) == 8};
  uint64_t local = wide(42);
  const std::string_view extra = header.substr(kHeaderBytes + name.size(), word(30));
  for (uint64_t field = 0; field + 4 <= extra.size(); field += 4 + number_at<uint16_t>(extra, field + 2)) {
    if (number_at<uint16_t>(extra, field) != 1) continue;  // zip64: the numbers that 32 bits cannot hold
    uint64_t value = field + 4;
    for (uint64_t* one : {&entry.bytes, &entry.stored, &local})
      if (*one == 0xFFFFFFFF) *one = number_at<uint64_t>(extra, std::exchange(value, value + 8));
  }
  if ((word(8) & 1) != 0) refuse_entry("not be encrypted.");
  if (word(10) != 0 && word(10) != 8)
    refuse_entry("be stored or deflated, got compression method ", word(10), ".");
  const std::string repeated = bytes(local, kLocalBytes);
  if (number_at<uint32_t>(repeated, 0) != 0x04034b50) refuse_entry("have a header, got other bytes.");
  entry.begin = local + kLocalBytes + number_at<uint16_t>(repeated, 26) + number_at<uint16_t>(repeated, 28);
  if (entry.begin > directory.begin || entry.stored > directory.begin - entry.begin)
    refuse_entry("lie before the directory, got ", entry.stored, " bytes at ", entry.begin, ".");
  if (entry.is_deflated ? entry.bytes / kDeflateMost > entry.stored : entry.bytes != entry.stored)
    refuse_entry("have a size that its ", entry.stored, " bytes can have, got ", entry.bytes, ".");
  if (!name.ends_with('/') && !entries_.emplace(name, entry).second)
    refuse_entry("be there once, got it twice.");
  return {local, entry.begin + entry.stored};
}

ZipFile::ZipFile(const std::filesystem::path& path) : file_(path) {
  const Directory directory = read_directory();
  std::vector<std::pair<uint64_t, uint64_t>> places;  // of the files with their headers
  std::string_view rest = directory.headers;
  for (uint64_t i = 0; i < directory.count; ++i) {
    const auto word = [&](uint64_t offset) { return uint64_t{number_at<uint16_t>(rest, offset)}; };
    const uint64_t size = kHeaderBytes + word(28) + word(30) + word(32);  // name, extra field and comment
    if (size > rest.size() || number_at<uint32_t>(rest, 0) != 0x02014b50)
      refuse("file ", i, " of the directory must have a header, got other bytes.");
    places.push_back(add_entry(directory, rest.substr(0, size)));
    rest.remove_prefix(size);
  }
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].first < places[i - 1].second)
      refuse("files must not overlap, got one up to ", places[i - 1].second, " and one from ",
             places[i].first, " on.");
}

std::string ZipFile::read(const std::string& name, uint64_t most) const {
  const Entry& entry = entries_.at(name);
  const uint64_t count = std::min(most, entry.bytes);
  std::string text = bytes(entry.begin, entry.is_deflated ? entry.stored : count);
  if (entry.is_deflated) text = inflated(text, count);
  if (text.size() != count || (count == entry.bytes && files::crc32(text) != entry.crc32))
    refuse(in_quotes(name), " must have the bytes of its checksum, got others. Hint: the file is damaged.");
  return text;
}

std::string ZipFile::read_text(const std::string& name) const {
  const Entry& entry = entries_.at(name);
  if (entry.bytes > kShortText && entry.bytes / kTextMost > entry.stored)
    refuse(in_quotes(name), " must be at most ", kTextMost, " times its ", entry.stored, " bytes, got ",
           entry.bytes, ".");
  return read(name);
}

}  // namespace gradus::foreign

#include "gradus/tools/export/npz.hpp"

#include <limits>
#include <ostream>

#include "gradus/files/file.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/export/gguf_numbers.hpp"

namespace gradus::exports {
namespace {

/// Numbers as zip and npy have them: the lowest byte first.
class LittleEndian {
 public:
  LittleEndian& two(uint64_t value) { return add(value, 2); }
  LittleEndian& four(uint64_t value) { return add(value, 4); }
  LittleEndian& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  LittleEndian& add(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xFF);
    return *this;
  }
  std::string bytes_;
};

/// What stands before the numbers of an .npy file: its length is a multiple of 64.
std::string npy_header(const Shape& shape) {
  constexpr size_t kBefore = 10;  // magic, version, length
  std::string sizes;
  for (const int64_t size : shape) sizes += concat(size, ", ");
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  if (shape.size() == 1) sizes.pop_back();
  std::string text = concat("{'descr': '<f4', 'fortran_order': False, 'shape': (", sizes, "), }");
  text.resize((kBefore + text.size() + 1 + 63) / 64 * 64 - kBefore - 1, ' ');
  text += '\n';
  return LittleEndian().text("\x93NUMPY").text({"\x01\0", 2}).two(text.size()).text(text).bytes();
}

/// A zip archive of files as they are (PKWARE's APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16).
class ZipWriter {
 public:
  explicit ZipWriter(std::ostream& out) : out_(out) {}

  /// Adds a file of two parts.
  void add(const std::string& name, std::string_view begin, std::string_view rest) {
    const uint32_t crc = files::crc32(rest, files::crc32(begin));
    const uint64_t size = begin.size() + rest.size(), at = written_;
    const auto facts = [&](LittleEndian& of) -> LittleEndian& {
      return of.two(kVersion)
          .two(0)
          .two(0)
          .two(kMidnight)
          .two(kFirstDay)
          .four(crc)
          .four(size)
          .four(size)
          .two(name.size())
          .two(0);
    };
    LittleEndian local;
    facts(local.text("PK\3\4")).text(name);
    LittleEndian central;
    facts(central.text("PK\1\2").two(kVersion)).two(0).two(0).two(0).four(0).four(at).text(name);
    put(local.bytes());
    put(begin);
    put(rest);
    directory_ += central.bytes();
    ++count_;
  }

  void finish() {
    const uint64_t at = written_, size = directory_.size();
    put(directory_);
    put(LittleEndian()
            .text("PK\5\6")
            .two(0)
            .two(0)
            .two(count_)
            .two(count_)
            .four(size)
            .four(at)
            .two(0)
            .bytes());
  }

 private:
  static constexpr uint64_t kVersion = 20;                  // needed to read it: 2.0
  static constexpr uint64_t kMidnight = 0, kFirstDay = 33;  // 1980-01-01: the same model gives the same bytes

  void put(std::string_view bytes) {
    out_ << bytes;
    written_ += bytes.size();
  }

  std::ostream& out_;
  std::string directory_;
  uint64_t written_ = 0, count_ = 0;
};

}  // namespace

void write_npz(const train::TrainedModel& trained, const std::filesystem::path& path) {
  const nn::StateDict weights = models::stored_state(trained.model);
  constexpr uint64_t kAround = 1024;  // bytes of headers an array, at most
  uint64_t bytes = 0;
  for (const auto& [name, tensor] : weights)
    bytes += static_cast<uint64_t>(tensor.numel()) * sizeof(float) + kAround;
  if (bytes > std::numeric_limits<uint32_t>::max())
    fail("export", "an .npz must be at most 4 GiB, got a model of ", bytes, " bytes.");
  if (weights.size() > std::numeric_limits<uint16_t>::max())
    fail("export", "an .npz must have at most 65535 arrays, got ", weights.size(), ".");
  files::write_atomically(path, [&](std::ostream& out) {
    ZipWriter zip(out);
    for (const auto& [name, tensor] : weights)
      zip.add(name + ".npy", npy_header(tensor.shape()), as_f32(numbers_of(tensor.contiguous())));
    zip.finish();
  });
}

}  // namespace gradus::exports

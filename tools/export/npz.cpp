#include "gradus/tools/export/export.hpp"

#include <limits>
#include <ostream>

#include "gradus/files/file.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/export/encodings.hpp"

namespace gradus::exports {
namespace {

/// The lowest `count` bytes of a number, the lowest first, as zip and npy store numbers.
std::string little_endian(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}
std::string two(uint64_t value) { return little_endian(value, 2); }
std::string four(uint64_t value) { return little_endian(value, 4); }

/// The bytes before the numbers of an .npy file: a multiple of 64.
std::string npy_header(const Shape& shape, const char* descr) {
  constexpr size_t kBefore = 10;  // magic, version, length
  std::string sizes;
  for (const int64_t size : shape) sizes += concat(size, ", ");
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  if (shape.size() == 1) sizes.pop_back();
  std::string text = concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", sizes, "), }");
  text.resize((kBefore + text.size() + 1 + 63) / 64 * 64 - kBefore - 1, ' ');
  text += '\n';
  return concat("\x93NUMPY", two(1), two(text.size()), text);
}

std::string as_i64(const Tensor& x) {
  std::string bytes;
  for (const int64_t n : x.to_vector<int64_t>()) bytes += little_endian(static_cast<uint64_t>(n), 8);
  return bytes;
}

/// A zip archive without compression (PKWARE's APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16).
class ZipWriter {
 public:
  explicit ZipWriter(std::ostream& out) : out_(out) {}

  /// Adds a file of two parts.
  void add(const std::string& name, std::string_view begin, std::string_view rest) {
    constexpr uint64_t kVersion = 20;                  // needed to read it: 2.0
    constexpr uint64_t kMidnight = 0, kFirstDay = 33;  // 1980-01-01: the same model gives the same bytes
    const std::string crc = four(files::crc32(rest, files::crc32(begin)));
    const std::string size = four(begin.size() + rest.size());
    const std::string facts = concat(two(kVersion), two(0), two(0), two(kMidnight), two(kFirstDay), crc, size,
                                     size, two(name.size()), two(0));
    directory_ +=
        concat("PK\1\2", two(kVersion), facts, two(0), two(0), two(0), four(0), four(written_), name);
    put(concat("PK\3\4", facts, name));
    put(begin);
    put(rest);
    ++count_;
  }

  void finish() {
    put(concat(directory_, "PK\5\6", two(0), two(0), two(count_), two(count_), four(directory_.size()),
               four(written_), two(0)));
  }

 private:
  void put(std::string_view bytes) {
    out_ << bytes;
    written_ += bytes.size();
  }

  std::ostream& out_;
  std::string directory_;
  uint64_t written_ = 0, count_ = 0;
};

}  // namespace

void write_npz(const Arrays& arrays, const std::filesystem::path& path) {
  uint64_t bytes = 0;
  for (const auto& [name, x] : arrays)
    bytes += static_cast<uint64_t>(x.numel()) * (x.dtype() == DType::int64 ? 8 : 4) + 1024;  // and headers
  if (bytes > std::numeric_limits<uint32_t>::max())
    fail("export", "an .npz must be at most 4 GiB, got arrays of ", bytes, " bytes.");
  if (arrays.size() > std::numeric_limits<uint16_t>::max())
    fail("export", "an .npz must have at most 65535 arrays, got ", arrays.size(), ".");
  files::write_atomically(path, [&](std::ostream& out) {
    ZipWriter zip(out);
    for (const auto& [name, x] : arrays) {
      const bool is_int = x.dtype() == DType::int64;
      zip.add(name + ".npy", npy_header(x.shape(), is_int ? "<i8" : "<f4"),
              is_int ? as_i64(x) : as_f32(numbers_of(x.to(DType::float32).contiguous())));
    }
    zip.finish();
  });
}

void write_npz(const train::TrainedModel& trained, const std::filesystem::path& path) {
  const nn::StateDict weights = models::stored_state(trained.model);
  write_npz(Arrays(weights.begin(), weights.end()), path);
}

}  // namespace gradus::exports

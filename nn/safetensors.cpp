#include "gradus/nn/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ostream>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::nn {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in memory");

constexpr uint64_t kLongestHeader = 100'000'000;  // bytes; the reference reader's limit
constexpr size_t kLengthBytes = 8;

float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

float from_float16(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16;
  const uint32_t exponent = bits >> 10 & 0x1FU;
  const uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero and subnormals count in units of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent - 15 + 127;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// Reads `count` values stored as From and writes them as To, a piece at a time.
template <class From, class To, class Convert>
void read_converted(std::istream& stream, To* out, int64_t count, Convert convert) {
  std::array<From, 4096> piece;
  while (count > 0 && stream) {
    const int64_t n = std::min<int64_t>(count, piece.size());
    stream.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(n * sizeof(From)));
    out = std::transform(piece.begin(), piece.begin() + n, out, convert);
    count -= n;
  }
}

struct StoredAs {
  std::string_view name;
  int rank;  ///< place in the file: widest first
};

StoredAs stored_as(DType dtype) {
  switch (dtype) {
    case DType::int64:
      return {"I64", 0};
    case DType::float64:
      return {"F64", 1};
    case DType::float32:
      return {"F32", 2};
    case DType::bfloat16:
      return {"BF16", 3};
    case DType::boolean:
      return {"BOOL", 4};
    default:
      fail("safetensors", "values must not be in tiles, got ", name(dtype),
           ". Hint: convert them with to(DType::float32).");
  }
}

/// The JSON of a header, an entry after another.
class HeaderText {
 public:
  void add_metadata(const Metadata& metadata) {
    if (metadata.empty()) return;
    std::string values;
    for (const auto& [key, value] : metadata)
      values += concat(values.empty() ? "" : ",", quoted(key), ":", quoted(value));
    add("__metadata__", "{" + values + "}");
  }

  /// Returns where its values end, if they begin at `begin`.
  uint64_t add(const std::string& name, const Tensor& tensor, uint64_t begin) {
    const uint64_t end = begin + static_cast<uint64_t>(tensor.numel() * element_size(tensor.dtype()));
    std::string shape;
    for (const int64_t size : tensor.shape()) shape += concat(shape.empty() ? "" : ",", size);
    add(name, concat("{\"dtype\":\"", stored_as(tensor.dtype()).name, "\",\"shape\":[", shape,
                     "],\"data_offsets\":[", begin, ",", end, "]}"));
    return end;
  }

  /// The whole, filled with spaces so that the values are aligned.
  std::string finish() const {
    std::string text = "{" + text_ + "}";
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
  }

 private:
  static std::string quoted(const std::string& text) {
    try {
      return files::json_text(text);
    } catch (const Error&) {
      fail("safetensors", "names and metadata must be UTF-8, got ", files::in_quotes(text), ".");
    }
  }

  void add(const std::string& key, const std::string& value) {
    text_ += concat(text_.empty() ? "" : ",", quoted(key), ":", value);
  }

  std::string text_;
};

/// A file that is to be written: tensors in their order, behind the header that says where they lie.
class Contents {
 public:
  Contents(const StateDict& tensors, const Metadata& metadata) : ordered_(tensors.begin(), tensors.end()) {
    std::stable_sort(ordered_.begin(), ordered_.end(), [](const auto& a, const auto& b) {
      return stored_as(a.second.dtype()).rank < stored_as(b.second.dtype()).rank;
    });
    HeaderText header;
    header.add_metadata(metadata);
    uint64_t offset = 0;
    for (auto& [name, tensor] : ordered_) {
      if (name == "__metadata__") fail("safetensors", "a tensor must not be called __metadata__.");
      tensor = tensor.detach().contiguous();
      offset = header.add(name, tensor, offset);
    }
    header_ = header.finish();
  }

  /// Calls end_part(name) behind the header and each tensor.
  void write(std::ostream& out, const std::function<void(const std::string&)>& end_part) const {
    const uint64_t length = header_.size();
    out.write(reinterpret_cast<const char*>(&length), kLengthBytes);
    out.write(header_.data(), static_cast<std::streamsize>(length));
    end_part("the header");
    for (const auto& [name, tensor] : ordered_) {
      out.write(static_cast<const char*>(tensor.raw_data()), tensor.numel() * element_size(tensor.dtype()));
      end_part(name);
    }
  }

 private:
  std::vector<std::pair<std::string, Tensor>> ordered_;
  std::string header_;
};

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, const files::FileChecksum* expected,
                                 Compared compared)
    : name_(path.string()) {
  const auto refuse = [&](const auto&... parts) { fail("safetensors", name_, ": ", parts...); };
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::directory) refuse("must be a file, got a folder.");
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found)
    refuse("must be a file, got a pipe or a device.");  // Opening a pipe may wait for ever.
  stream_.open(path, std::ios::binary);
  if (!stream_) refuse("cannot be read: ", std::strerror(errno), ".");
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) refuse("cannot be read: ", error.message(), ".");
  if (expected && compared == Compared::all) {
    files::verify(stream_, *expected, path);
    stream_.clear();
    stream_.seekg(0);
  }

  if (size < kLengthBytes) refuse("must begin with the 8 bytes of a length, got a file of ", size, " bytes.");
  uint64_t length = 0;
  stream_.read(reinterpret_cast<char*>(&length), kLengthBytes);
  if (length > kLongestHeader)
    refuse("the header must be at most ", kLongestHeader, " bytes long, got ", length, ".");
  if (length > size - kLengthBytes) {
    refuse("the header must lie inside the file of ", size, " bytes, got a length of ", length,
           ". Hint: the file was cut short.");
  }
  std::string json(length, '\0');
  stream_.read(json.data(), static_cast<std::streamsize>(length));
  if (!stream_) refuse("cannot be read: ", std::strerror(errno), ".");
  if (expected && compared == Compared::header && !expected->parts.empty()) {
    const files::FileChecksum::Part& header = expected->parts.front();
    files::verify(std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + json,
                  {header.crc32, {header}}, path);
  }
  data_start_ = kLengthBytes + length;
  header_ = parse_safetensors_header(json, size - data_start_, name_);
}

Tensor SafetensorsFile::read(const SafetensorsEntry& entry, bool keep_float64) {
  const DType dtype = loaded_as(entry, keep_float64);
  Tensor tensor = empty(entry.shape, dtype);
  void* const values = tensor.raw_mutable_data();
  const int64_t count = tensor.numel();
  stream_.clear();
  stream_.seekg(static_cast<std::streamoff>(data_start_ + entry.begin));

  if (entry.dtype == "F16") {
    read_converted<uint16_t>(stream_, static_cast<float*>(values), count, from_float16);
  } else if (entry.dtype == "BF16") {
    read_converted<uint16_t>(stream_, static_cast<float*>(values), count, from_bfloat16);
  } else if (entry.dtype == "F64" && dtype == DType::float32) {
    read_converted<double>(stream_, static_cast<float*>(values), count,
                           [](double value) { return static_cast<float>(value); });
  } else if (entry.dtype == "BOOL") {
    read_converted<uint8_t>(stream_, static_cast<bool*>(values), count, [&](uint8_t byte) {
      if (byte > 1)
        fail("safetensors", name_, ": values of ", files::in_quotes(entry.name), " must be 0 or 1, got ",
             int{byte}, ".");
      return byte == 1;
    });
  } else {
    stream_.read(static_cast<char*>(values), count * element_size(dtype));
  }
  if (!stream_)
    fail("safetensors", name_, ": values of ", files::in_quotes(entry.name),
         " cannot be read: the file was cut short.");
  return tensor;
}

DType SafetensorsFile::loaded_as(const SafetensorsEntry& entry, bool keep_float64) const {
  const std::string& dtype = entry.dtype;
  if (dtype == "F64" && keep_float64) return DType::float64;
  if (dtype == "F32" || dtype == "F16" || dtype == "BF16" || dtype == "F64") return DType::float32;
  if (dtype == "I64") return DType::int64;
  if (dtype == "BOOL") return DType::boolean;
  fail("safetensors", name_, ": dtype of ", files::in_quotes(entry.name),
       " must be F32, F16, BF16, F64, I64 or BOOL to be loaded, got ", dtype, ".");
}

StateDict load_safetensors(const std::filesystem::path& path, bool keep_float64,
                           const files::FileChecksum* expected) {
  SafetensorsFile file(path, expected);
  StateDict tensors;
  for (const SafetensorsEntry& entry : file.header().entries)
    tensors.emplace(entry.name, file.read(entry, keep_float64));
  return tensors;
}

void save_safetensors(const std::filesystem::path& path, const StateDict& tensors, const Metadata& metadata) {
  const Contents contents(tensors, metadata);
  files::write_atomically(path, [&](std::ostream& out) { contents.write(out, [](const std::string&) {}); });
}

void save_safetensors(files::FolderUpdate& update, const std::string& name, const StateDict& tensors,
                      const Metadata& metadata) {
  const Contents contents(tensors, metadata);
  update.write(name, [&](files::StagedFile& file) {
    contents.write(file, [&](const std::string& part) { file.end_part(part); });
  });
}

}  // namespace gradus::nn

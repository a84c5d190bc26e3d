#include "gradus/nn/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <ostream>

#include "gradus/files/file.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::nn {
namespace {

using files::Field;
using files::in_quotes;

static_assert(std::endian::native == std::endian::little, "the file has the byte order of memory");

constexpr uint64_t kLongestHeader = 100'000'000;  // bytes; the reference reader's limit
constexpr size_t kLengthBytes = 8;

float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

float from_float16(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16;
  const uint32_t exponent = bits >> 10 & 0x1FU, fraction = bits & 0x3FFU;
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

// -- the header of a file that is read

TensorEntry read_entry(std::string_view name, const Field& field) {
  field.must_have_only({"dtype", "shape", "data_offsets"});
  const Field dtype = field.at("dtype"), shape = field.at("shape"), offsets = field.at("data_offsets");
  TensorEntry entry{.name = std::string(name), .dtype = std::string(dtype.text()), .shape = {}};
  const uint64_t bits = dtype_bits(entry.dtype);
  uint64_t bytes = std::max<uint64_t>(bits / 8, 1);
  if (bits == 0) dtype.refuse("must be one that safetensors defines, got ", dtype.shown(), ".");

  const std::vector<Field> sizes = shape.items();
  if (sizes.size() > kMaxDims)
    shape.refuse("must have at most ", kMaxDims, " dimensions, got ", sizes.size(), ".");
  bool is_empty = false;
  for (const Field& item : sizes) {
    const int64_t size = item.integer(0);
    // The strides are products of the other sizes, which must fit even if one size is 0.
    if (__builtin_mul_overflow(bytes, std::max<uint64_t>(static_cast<uint64_t>(size), 1), &bytes) ||
        bytes > std::numeric_limits<int64_t>::max())
      field.refuse("must have a size of 64 bits in bytes, got more.");
    is_empty = is_empty || size == 0;
    entry.shape.push_back(size);
  }
  if (is_empty) bytes = 0;
  if (bits < 8) {  // Several numbers share a byte.
    if (bytes * bits % 8 != 0)
      shape.refuse("must have numbers of ", bits, " bits that fill whole bytes, got ", entry.shape, ".");
    bytes = bytes / 8 * bits + bytes % 8 * bits / 8;
  }

  const std::vector<Field> ends = offsets.items();
  if (ends.size() != 2) offsets.refuse("must be two numbers, got ", ends.size(), ".");
  entry.begin = ends[0].unsigned_integer();
  entry.end = ends[1].unsigned_integer();
  if (entry.begin > entry.end || entry.end - entry.begin != bytes)
    offsets.refuse("must span the ", bytes, " bytes of ", entry.dtype, " ", entry.shape, ", got [",
                   entry.begin, ", ", entry.end, "].");
  return entry;
}

// -- a file that is written

/// The names of dtypes in files, in the order of the values there: widest first.
constexpr std::pair<DType, std::string_view> kWritten[] = {{DType::int64, "I64"},
                                                           {DType::float64, "F64"},
                                                           {DType::float32, "F32"},
                                                           {DType::bfloat16, "BF16"},
                                                           {DType::boolean, "BOOL"}};

/// The index of a dtype in kWritten.
size_t written_order(DType dtype) {
  size_t i = 0;
  while (i < std::size(kWritten) && kWritten[i].first != dtype) ++i;
  if (i == std::size(kWritten))
    fail("safetensors", "values must not be in tiles, got ", name(dtype),
         ". Hint: convert them with to(DType::float32).");
  return i;
}

std::string json_string(const std::string& text) {
  try {
    return files::json_text(text);
  } catch (const Error&) {
    fail("safetensors", "names and metadata must be UTF-8, got ", in_quotes(text), ".");
  }
}

/// Tensors in the order of their values, and the header.
class Contents {
 public:
  Contents(const StateDict& tensors, const Metadata& metadata) : ordered_(tensors.begin(), tensors.end()) {
    std::ranges::stable_sort(ordered_, {},
                             [](const auto& item) { return written_order(item.second.dtype()); });
    std::vector<std::string> members;
    if (!metadata.empty())
      members.push_back(concat("\"__metadata__\":{",
                               joined(metadata, ",",
                                      [](const auto& item) {
                                        return concat(json_string(item.first), ":", json_string(item.second));
                                      }),
                               "}"));
    uint64_t begin = 0;
    for (auto& [name, tensor] : ordered_) {
      if (name == "__metadata__") fail("safetensors", "a tensor must not be called __metadata__.");
      tensor = tensor.detach().contiguous();
      const uint64_t end = begin + static_cast<uint64_t>(bytes(tensor));
      members.push_back(concat(json_string(name), ":{\"dtype\":\"",
                               kWritten[written_order(tensor.dtype())].second, "\",\"shape\":[",
                               joined(tensor.shape(), ","), "],\"data_offsets\":[", begin, ",", end, "]}"));
      begin = end;
    }
    header_ = concat("{", joined(members, ","), "}");
    header_.resize((header_.size() + 7) / 8 * 8, ' ');  // aligns the values
  }

  /// Calls end_part(name) after the header and each tensor.
  void write(std::ostream& out, const std::function<void(const std::string&)>& end_part) const {
    const uint64_t length = header_.size();
    out.write(reinterpret_cast<const char*>(&length), kLengthBytes);
    out.write(header_.data(), static_cast<std::streamsize>(length));
    end_part("the header");
    for (const auto& [name, tensor] : ordered_) {
      out.write(static_cast<const char*>(tensor.raw_data()), bytes(tensor));
      end_part(name);
    }
  }

 private:
  static int64_t bytes(const Tensor& tensor) { return tensor.numel() * element_size(tensor.dtype()); }

  std::vector<std::pair<std::string, Tensor>> ordered_;
  std::string header_;
};

}  // namespace

uint64_t dtype_bits(std::string_view dtype) {
  static const std::map<std::string_view, uint64_t> bits = {
      {"U64", 64},        {"I64", 64},    {"F64", 64},    {"C64", 64}, {"F32", 32},        {"U32", 32},
      {"I32", 32},        {"BF16", 16},   {"F16", 16},    {"U16", 16}, {"I16", 16},        {"F8_E5M2", 8},
      {"F8_E4M3", 8},     {"F8_E8M0", 8}, {"I8", 8},      {"U8", 8},   {"F8_E4M3FNUZ", 8}, {"BOOL", 8},
      {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4}};
  const auto found = bits.find(dtype);
  return found == bits.end() ? 0 : found->second;
}

TensorHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes, const std::string& file) {
  const auto refuse = [&](const auto&... parts) { fail("safetensors", files::plain(file), ": ", parts...); };
  if (text.empty() || text.front() != '{') refuse("the header must start with {.");
  const files::Json json(text, "safetensors", file + ": the header");
  TensorHeader header;
  for (const auto& [name, value] : json.root().members()) {
    if (name != "__metadata__") {
      header.entries.push_back(read_entry(name, value));
      continue;
    }
    for (const auto& [key, metadata] : value.members()) header.metadata.emplace(key, metadata.text());
  }
  std::ranges::stable_sort(header.entries, {},
                           [](const auto& entry) { return std::pair(entry.begin, entry.end); });
  uint64_t end = 0;
  for (const TensorEntry& entry : header.entries) {
    if (entry.begin != end)
      refuse("values of ", in_quotes(entry.name), " must start at ", end,
             ", where the previous values end, got ", entry.begin, ".");
    end = entry.end;
  }
  if (end != data_bytes)
    refuse("values must fill the rest of the file, ", data_bytes, " bytes, got ", end, ".");
  return header;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, const files::FileChecksum* expected,
                                 Compared compared)
    : TensorFile("safetensors", path.string()) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  using enum std::filesystem::file_type;
  if (type != regular && type != not_found)  // Opening a pipe may wait forever.
    refuse("must be a file, got a ", type == directory ? "folder." : "pipe or a device.");
  stream_.open(path, std::ios::binary);
  if (!stream_) refuse("cannot be read: ", std::strerror(errno), ".");
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) refuse("cannot be read: ", error.message(), ".");
  if (expected && compared == Compared::all) {
    files::verify(stream_, *expected, path);
    stream_.clear();
    stream_.seekg(0);
  }

  std::string begin(std::min<uint64_t>(size, 64), '\0');
  stream_.read(begin.data(), std::ssize(begin));
  if (const std::string other = files::other_file(begin); !other.empty())
    refuse("must have tensors, got ", other);
  uint64_t length = 0;
  std::memcpy(&length, begin.data(), std::min(begin.size(), kLengthBytes));
  if (size < kLengthBytes || length > kLongestHeader)
    refuse(
        "must be safetensors (a length of 8 bytes, then {), an archive of PyTorch (PK), or a pickle of "
        "protocol 2 to 5, got ",
        begin.empty() ? "an empty file" : concat("a file that begins with ", in_quotes(begin.substr(0, 9))),
        ".");
  if (length > size - kLengthBytes)
    refuse("the header must lie inside the file of ", size, " bytes, got a length of ", length,
           ". Hint: the file was cut short.");
  std::string json(length, '\0');
  stream_.seekg(kLengthBytes);
  stream_.read(json.data(), static_cast<std::streamsize>(length));
  if (!stream_) refuse("cannot be read: ", std::strerror(errno), ".");
  if (expected && compared == Compared::header && !expected->parts.empty()) {
    const files::FileChecksum::Part& header = expected->parts.front();
    files::verify(begin.substr(0, kLengthBytes) + json, {header.crc32, {header}}, path);
  }
  data_start_ = kLengthBytes + length;
  header_ = parse_safetensors_header(json, size - data_start_, name_);
}

std::istream& SafetensorsFile::values(const TensorEntry& entry) {
  stream_.clear();
  stream_.seekg(static_cast<std::streamoff>(data_start_ + entry.begin));
  return stream_;
}

Tensor TensorFile::read(const TensorEntry& entry, bool keep_float64) {
  const DType dtype = loaded_as(entry, keep_float64);
  Tensor tensor = empty(entry.shape, dtype);
  void* const values = tensor.raw_mutable_data();
  const int64_t count = tensor.numel();
  std::istream& stream = this->values(entry);

  if (entry.dtype == "F16") {
    read_converted<uint16_t>(stream, static_cast<float*>(values), count, from_float16);
  } else if (entry.dtype == "BF16") {
    read_converted<uint16_t>(stream, static_cast<float*>(values), count, from_bfloat16);
  } else if (entry.dtype == "F64" && dtype == DType::float32) {
    read_converted<double>(stream, static_cast<float*>(values), count,
                           [](double value) { return static_cast<float>(value); });
  } else if (entry.dtype == "BOOL") {
    read_converted<uint8_t>(stream, static_cast<bool*>(values), count, [&](uint8_t byte) {
      if (byte > 1) refuse("values of ", in_quotes(entry.name), " must be 0 or 1, got ", int{byte}, ".");
      return byte == 1;
    });
  } else {
    stream.read(static_cast<char*>(values), count * element_size(dtype));
  }
  if (!stream) refuse("values of ", in_quotes(entry.name), " cannot be read: the file was cut short.");
  return tensor;
}

Tensor TensorFile::read_weight(const TensorEntry& entry) {
  Tensor weight = read(entry);
  if (!is_floating(weight.dtype()))
    refuse(in_quotes(entry.name), " must be F32, F16, BF16 or F64, got ", entry.dtype, ".");
  const float *const begin = weight.data<float>(), *const end = begin + weight.numel();
  const float* const wrong = std::find_if(begin, end, [](float value) { return !std::isfinite(value); });
  if (wrong != end)
    refuse("values of ", in_quotes(entry.name), " must be finite, got NaN or infinity at ",
           entry.shape.index_of(wrong - begin), ".");
  return weight;
}

DType TensorFile::loaded_as(const TensorEntry& entry, bool keep_float64) const {
  const std::string& dtype = entry.dtype;
  if (dtype == "F64" && keep_float64) return DType::float64;
  if (dtype == "F32" || dtype == "F16" || dtype == "BF16" || dtype == "F64") return DType::float32;
  if (dtype == "I64") return DType::int64;
  if (dtype == "BOOL") return DType::boolean;
  refuse("dtype of ", in_quotes(entry.name), " must be F32, F16, BF16, F64, I64 or BOOL to be loaded, got ",
         dtype, ".");
}

StateDict load_safetensors(const std::filesystem::path& path, bool keep_float64,
                           const files::FileChecksum* expected) {
  SafetensorsFile file(path, expected);
  StateDict tensors;
  for (const TensorEntry& entry : file.header().entries)
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

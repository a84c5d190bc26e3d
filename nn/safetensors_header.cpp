#include <algorithm>
#include <limits>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::nn {
namespace {

using files::Field;
using files::in_quotes;

/// Bytes an element, 0 for a dtype that is not known.
uint64_t dtype_size(std::string_view dtype) {
  static const std::map<std::string_view, uint64_t> sizes = {
      {"U64", 8},     {"I64", 8},  {"F64", 8}, {"C64", 8}, {"F32", 4}, {"U32", 4},
      {"I32", 4},     {"BF16", 2}, {"F16", 2}, {"U16", 2}, {"I16", 2}, {"F8_E5M2", 1},
      {"F8_E4M3", 1}, {"I8", 1},   {"U8", 1},  {"BOOL", 1}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

class HeaderParser {
 public:
  HeaderParser(uint64_t data_bytes, const std::string& file) : data_bytes_(data_bytes), file_(file) {}

  SafetensorsHeader parse(std::string_view text) {
    if (text.empty() || text.front() != '{')
      fail("safetensors", files::plain(file_), ": the header must start with {.");
    const files::Json json(text, "safetensors", file_ + ": the header");
    for (const auto& [name, value] : json.root().members()) {
      if (name == "__metadata__")
        read_metadata(value);
      else
        header_.entries.push_back(read_entry(name, value));
    }
    check_layout();
    return std::move(header_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("safetensors", files::plain(file_), ": ", parts...);
  }

  void read_metadata(const Field& metadata) {
    for (const auto& [key, value] : metadata.members()) header_.metadata.emplace(key, value.text());
  }

  static SafetensorsEntry read_entry(std::string_view name, const Field& field) {
    field.must_have_only({"dtype", "shape", "data_offsets"});
    SafetensorsEntry entry;
    entry.name = name;

    const Field dtype = field.at("dtype"), shape = field.at("shape"), offsets = field.at("data_offsets");
    entry.dtype = dtype.text();
    uint64_t bytes = dtype_size(entry.dtype);
    if (bytes == 0) dtype.refuse("must be one that safetensors defines, got ", dtype.shown(), ".");

    const std::vector<Field> sizes = shape.items();
    if (sizes.size() > kMaxDims)
      shape.refuse("must have at most ", kMaxDims, " dimensions, got ", sizes.size(), ".");
    bool is_empty = false;
    for (const Field& item : sizes) {
      const int64_t size = item.integer(0);
      // A size of 0 must not hide that the others multiply to nonsense: strides are made of them.
      if (__builtin_mul_overflow(bytes, std::max<uint64_t>(static_cast<uint64_t>(size), 1), &bytes) ||
          bytes > std::numeric_limits<int64_t>::max())
        field.refuse("must have a size of 64 bits in bytes, got more.");
      is_empty = is_empty || size == 0;
      entry.shape.push_back(size);
    }
    if (is_empty) bytes = 0;

    const std::vector<Field> ends = offsets.items();
    if (ends.size() != 2) offsets.refuse("must be two numbers, got ", ends.size(), ".");
    entry.begin = ends[0].unsigned_integer();
    entry.end = ends[1].unsigned_integer();
    if (entry.begin > entry.end || entry.end - entry.begin != bytes) {
      offsets.refuse("must span the ", bytes, " bytes of ", entry.dtype, " ", entry.shape, ", got [",
                     entry.begin, ", ", entry.end, "].");
    }
    return entry;
  }

  void check_layout() {
    auto& entries = header_.entries;
    std::stable_sort(entries.begin(), entries.end(),
                     [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                       return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                     });
    uint64_t end = 0;
    for (const SafetensorsEntry& entry : entries) {
      if (entry.begin != end)
        refuse("values of ", in_quotes(entry.name), " must start at ", end,
               ", where the ones before end, got ", entry.begin, ".");
      end = entry.end;
    }
    if (end != data_bytes_)
      refuse("values must fill the rest of the file, ", data_bytes_, " bytes, got ", end, ".");
  }

  uint64_t data_bytes_;
  const std::string& file_;
  SafetensorsHeader header_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes,
                                           const std::string& file) {
  return HeaderParser(data_bytes, file).parse(json);
}

}  // namespace gradus::nn

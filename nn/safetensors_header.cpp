#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "gradus/autograd/error.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::nn {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 3;  // {"name": {"shape": [...]}}

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
    if (text.empty() || text.front() != '{') refuse("the header must start with {.");
    // The library takes a zero byte for the end of its input.
    if (const size_t at = text.find('\0'); at != text.npos)
      refuse("the header must be JSON, got a zero byte at ", at, ".");
    const Json json = parse_json(text);
    for (const auto& [name, value] : json.items()) {
      if (name == "__metadata__") {
        read_metadata(value);
      } else {
        header_.entries.push_back(read_entry(name, value));
      }
    }
    check_layout();
    return std::move(header_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("safetensors", file_, ": ", parts...);
  }

  /// Text of a file as it may stand in a message: on one line.
  static std::string quoted(const std::string& text) { return Json(text).dump(); }

  // The library keeps the last of equal keys and says nothing; two readers could then see two different
  // files.
  Json parse_json(std::string_view text) const {
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth > kDeepest) refuse("the header must be an object of flat entries, got deeper nesting.");
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
        refuse("keys of the header must be unique, got ", parsed.dump(), " twice.");
      return true;
    };
    try {
      return Json::parse(text.begin(), text.end(), watch);
    } catch (const Json::exception& e) {
      refuse("the header must be JSON, got ", e.what(), ".");
    }
  }

  void read_metadata(const Json& value) {
    if (!value.is_object()) refuse("__metadata__ must be an object, got ", value.type_name(), ".");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string())
        refuse("metadata values must be strings, got ", text.type_name(), " for ", quoted(key), ".");
      header_.metadata.emplace(key, text.get<std::string>());
    }
  }

  SafetensorsEntry read_entry(const std::string& key, const Json& value) const {
    const std::string name = quoted(key);
    const auto member = [&](const char* field) -> const Json& {
      if (!value.is_object() || value.size() != 3 || !value.contains(field))
        refuse(name, " must have dtype, shape and data_offsets and nothing else.");
      return value[field];
    };
    SafetensorsEntry entry;
    entry.name = key;

    const Json& dtype = member("dtype");
    if (!dtype.is_string()) refuse("dtype of ", name, " must be a string, got ", dtype.type_name(), ".");
    entry.dtype = dtype.get<std::string>();
    uint64_t bytes = dtype_size(entry.dtype);
    if (bytes == 0)
      refuse("dtype of ", name, " must be one that safetensors defines, got ", quoted(entry.dtype), ".");

    const std::vector<uint64_t> sizes = whole_numbers(name, "shape", member("shape"));
    if (sizes.size() > kMaxDims)
      refuse(name, " must have at most ", kMaxDims, " dimensions, got ", sizes.size(), ".");
    bool is_empty = false;
    for (const uint64_t size : sizes) {
      // A size of 0 must not hide that the others multiply to nonsense: strides are made of them.
      if (size > std::numeric_limits<int64_t>::max() ||
          __builtin_mul_overflow(bytes, std::max<uint64_t>(size, 1), &bytes))
        refuse("size of ", name, " must fit into 64 bits, got shape ", member("shape").dump(), ".");
      is_empty = is_empty || size == 0;
      entry.shape.push_back(static_cast<int64_t>(size));
    }
    if (bytes > std::numeric_limits<int64_t>::max())
      refuse("size of ", name, " must fit into 64 bits, got shape ", member("shape").dump(), ".");
    if (is_empty) bytes = 0;

    const std::vector<uint64_t> offsets = whole_numbers(name, "data_offsets", member("data_offsets"));
    if (offsets.size() != 2)
      refuse("data_offsets of ", name, " must be two numbers, got ", offsets.size(), ".");
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.begin > entry.end || entry.end - entry.begin != bytes) {
      refuse("data_offsets of ", name, " must span the ", bytes, " bytes of ", entry.dtype, " ", entry.shape,
             ", got [", entry.begin, ", ", entry.end, "].");
    }
    return entry;
  }

  std::vector<uint64_t> whole_numbers(const std::string& name, const char* field, const Json& list) const {
    const auto is_whole = [](const Json& number) { return number.is_number_unsigned(); };
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_whole))
      refuse(field, " of ", name, " must be a list of whole numbers >= 0, got ", list.dump(), ".");
    return list.get<std::vector<uint64_t>>();
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
        refuse("values of ", quoted(entry.name), " must start at ", end, ", where the ones before end, got ",
               entry.begin, ".");
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

// Reads the header of a GGUF file.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <unordered_set>

#include "gradus/annexes/formats/gguf/types.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "values are read as they lie in memory");

using files::in_quotes;

constexpr uint64_t kMostDimensions = 4;   // ggml's GGML_MAX_DIMS
constexpr uint64_t kLongestName = 65535;  // bytes of a key, by the specification

/// The bytes of a file in order. Refuses a size beyond the end of the file before it allocates memory.
class Bytes {
 public:
  explicit Bytes(const std::filesystem::path& path) : name_(files::plain(path.string())) {
    std::error_code error;
    const auto type = std::filesystem::status(path, error).type();
    if (type == std::filesystem::file_type::directory) refuse("must be a file, got a folder.");
    if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found)
      refuse("must be a file, got a pipe or a device.");  // Opening a pipe may wait forever.
    stream_.open(path, std::ios::binary);
    if (!stream_) refuse("cannot be read: ", std::strerror(errno), ".");
    size_ = std::filesystem::file_size(path, error);
    if (error) refuse("cannot be read: ", error.message(), ".");
  }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("gguf", name_, ": ", parts...);
  }

  uint64_t at() const { return at_; }
  uint64_t left() const { return size_ - at_; }

  std::string take(uint64_t count, const std::string& what) {
    if (count > left())
      refuse(what, " must lie inside the file of ", size_, " bytes, got ", count, " bytes from ", at_,
             " on. Hint: the file was cut short.");
    std::string bytes(count, '\0');
    stream_.read(bytes.data(), static_cast<std::streamsize>(count));
    if (!stream_) refuse("cannot be read to its end.");
    at_ += count;
    return bytes;
  }

  template <class T>
  T number(const std::string& what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  std::string text(const std::string& what, uint64_t longest) {
    const auto size = number<uint64_t>("the length of " + what);
    if (size > longest) refuse(what, " must be at most ", longest, " bytes long, got ", size, ".");
    return take(size, what);
  }

 private:
  std::string name_;
  std::ifstream stream_;
  uint64_t size_ = 0, at_ = 0;
};

class HeaderReader {
 public:
  explicit HeaderReader(const std::filesystem::path& path) : in_(path) {}

  Header read() {
    check_beginning();
    const auto tensors = in_.number<uint64_t>("the number of tensors");
    const auto keys = in_.number<uint64_t>("the number of keys");
    check_count(tensors, "tensors", 24);
    check_count(keys, "keys", 13);
    for (uint64_t i = 0; i < keys; ++i) read_key(i);
    read_alignment();
    for (uint64_t i = 0; i < tensors; ++i) read_tensor(i);
    check_layout();
    return std::move(header_);
  }

 private:
  void check_beginning() {
    const std::string magic = in_.left() < kMagic.size() ? "" : in_.take(kMagic.size(), "the magic number");
    if (magic != kMagic) in_.refuse("must begin with GGUF, got ", in_quotes(magic), ".");
    const auto version = in_.number<uint32_t>("the version");
    if (version != 2 && version != 3) {
      const bool swapped = version == 0x03000000U || version == 0x02000000U;
      in_.refuse("must be of version 2 or 3, got ", version,
                 swapped ? ", a file for big-endian machines." : ".");
    }
  }

  /// `least`: bytes of the smallest.
  void check_count(uint64_t count, const char* what, uint64_t least) const {
    if (count > in_.left() / least)
      in_.refuse("the number of ", what, " must fit into the ", in_.left(), " bytes left, got ", count, ".");
  }

  std::string read_name(const std::string& what, std::unordered_set<std::string>& known) {
    std::string name = in_.text(what, kLongestName);
    if (name.empty()) in_.refuse(what, " must not be empty.");
    if (!files::is_utf8(name)) in_.refuse(what, " must be UTF-8, got ", in_quotes(name), ".");
    if (!known.insert(name).second) in_.refuse(what, " must be unique, got ", in_quotes(name), " again.");
    return name;
  }

  ValueType read_type(const std::string& what) {
    const auto type = in_.number<uint32_t>(what);
    if (type > static_cast<uint32_t>(ValueType::f64))
      in_.refuse(what, " must be in [0, 12], got ", type, ".");
    return static_cast<ValueType>(type);
  }

  bool read_flag(const std::string& what) {
    const auto byte = in_.number<uint8_t>(what);
    if (byte > 1) in_.refuse(what, " must be 0 or 1, got ", int{byte}, ".");
    return byte == 1;
  }

  List read_list(const std::string& what) {
    List list;
    list.of = read_type("the type of the elements of " + what);
    if (list.of == ValueType::list) in_.refuse(what, " must not be a list of lists.");
    list.count = in_.number<uint64_t>("the length of " + what);
    const uint64_t size = dispatch(list.of, []<class T>() -> uint64_t {
      return std::is_arithmetic_v<T> ? sizeof(T) : sizeof(uint64_t);  // a text has its length
    });
    if (list.count > in_.left() / size)
      in_.refuse(what, " must lie inside the file, got ", list.count, " elements for ", in_.left(),
                 " bytes.");
    if (list.of != ValueType::text) {
      list.bytes = in_.take(list.count * size, what);
      const auto flag = [](char byte) { return byte == 0 || byte == 1; };
      if (list.of == ValueType::boolean && !std::all_of(list.bytes.begin(), list.bytes.end(), flag))
        in_.refuse(what, " must be of 0 and 1, got another byte.");
      return list;
    }
    for (uint64_t i = 0; i < list.count; ++i) list.texts.push_back(in_.text("a text of " + what, in_.left()));
    return list;
  }

  Value read_value(ValueType type, const std::string& what) {
    return dispatch(type, [&]<class T>() -> Value {
      if constexpr (std::is_same_v<T, bool>)
        return read_flag(what);
      else if constexpr (std::is_same_v<T, std::string>)
        return in_.text(what, in_.left());
      else if constexpr (std::is_same_v<T, List>)
        return read_list(what);
      else
        return in_.number<T>(what);
    });
  }

  void read_key(uint64_t index) {
    std::string key = read_name(concat("key ", index), key_names_);
    const std::string what = in_quotes(key);
    const ValueType type = read_type("the type of " + what);
    header_.keys.emplace_back(std::move(key), read_value(type, what));
  }

  void read_alignment() {
    const Value* const value = header_.find(kAlignmentKey);
    if (!value) return;
    const auto* const alignment = std::get_if<uint32_t>(value);
    if (!alignment || *alignment < 8 || !std::has_single_bit(*alignment))
      in_.refuse(kAlignmentKey, " must be a u32, a power of 2 of at least 8, got another.");
    header_.alignment = *alignment;
  }

  void read_tensor(uint64_t index) {
    Tensor tensor;
    tensor.name = read_name(concat("the name of tensor ", index), tensor_names_);
    const std::string what = in_quotes(tensor.name);
    const auto dimensions = in_.number<uint32_t>("the dimensions of " + what);
    if (dimensions > kMostDimensions)
      in_.refuse(what, " must have at most ", kMostDimensions, " dimensions, got ", dimensions, ".");
    for (uint32_t i = 0; i < dimensions; ++i)
      tensor.shape.push_back(in_.number<uint64_t>("the sizes of " + what));
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    const auto type = in_.number<uint32_t>("the type of " + what);
    const TensorType* const known = tensor_type(type);
    if (!known) in_.refuse("the type of ", what, " must be one of ggml's, got ", type, ".");
    tensor.type = *known;
    tensor.begin = in_.number<uint64_t>("the place of " + what);
    tensor.bytes = bytes_of_tensor(tensor, what);
    header_.tensors.push_back(std::move(tensor));
  }

  uint64_t bytes_of_tensor(const Tensor& tensor, const std::string& what) const {
    uint64_t numbers = 1, bytes = 0;
    for (const uint64_t size : tensor.shape)
      if (size == 0 || __builtin_mul_overflow(numbers, size, &numbers))
        in_.refuse("the sizes of ", what, " must be at least 1 and count in 64 bits, got others.");
    const uint64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (row % tensor.type.block != 0)
      in_.refuse("a row of ", what, " must be whole blocks of ", tensor.type.block, ", as ", tensor.type.name,
                 " has them, got ", row, " numbers.");
    if (__builtin_mul_overflow(numbers / tensor.type.block, tensor.type.bytes, &bytes) ||
        bytes > std::numeric_limits<int64_t>::max())
      in_.refuse(what, " must have a size of 64 bits in bytes, got more.");
    return bytes;
  }

  uint64_t aligned(uint64_t bytes) const {
    return (bytes + header_.alignment - 1) / header_.alignment * header_.alignment;
  }

  void check_layout() {
    header_.data_start = aligned(in_.at());
    if (header_.tensors.empty()) return;
    const uint64_t padding = header_.data_start - in_.at();
    if (padding > in_.left())
      in_.refuse("the tensors must begin at ", header_.data_start, ", got a file that ends before.");
    const uint64_t there = in_.left() - padding;
    std::stable_sort(header_.tensors.begin(), header_.tensors.end(),
                     [](const Tensor& a, const Tensor& b) { return a.begin < b.begin; });
    uint64_t end = 0;
    for (const Tensor& tensor : header_.tensors) {
      if (tensor.begin != aligned(end))
        in_.refuse(in_quotes(tensor.name), " must begin at ", aligned(end),
                   ", after the tensor before it, got ", tensor.begin, ".");
      if (tensor.begin > there || tensor.bytes > there - tensor.begin)
        in_.refuse(in_quotes(tensor.name), " must lie inside the ", there, " bytes of tensors, got ",
                   tensor.bytes, " from ", tensor.begin, " on. Hint: the file was cut short.");
      end = tensor.begin + tensor.bytes;
    }
    if (there > aligned(end))
      in_.refuse("the tensors must fill the rest of the file, ", there, " bytes, got ", aligned(end), ".");
  }

  Bytes in_;
  Header header_;
  std::unordered_set<std::string> key_names_, tensor_names_;
};

}  // namespace

bool is_gguf(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream stream(path, std::ios::binary);
  std::string magic(kMagic.size(), '\0');
  stream.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  return stream && magic == kMagic;
}

Header read_header(const std::filesystem::path& path) { return HeaderReader(path).read(); }

}  // namespace gradus::gguf

// GGUF, the file format of llama.cpp and related programs: values by key, and named tensors, in one file.
//
// The layout, little-endian, is: "GGUF", the version, the numbers of tensors and keys; each key with the type
// of its value; each tensor's name, sizes, type and place; then, at a multiple of the alignment, the tensors'
// bytes, each at such a multiple too. (The specification: docs/gguf.md of ggml.)
//
// The names of a model's keys and tensors are in annexes/formats/export. The reader is strict, as ggml's is:
// tensors follow one another without gaps. Memory is a small multiple of the file's size. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gradus::gguf {

/// The types of values; a Value's index. ggml calls `text` string and `list` array.
enum class ValueType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };
std::string_view name(ValueType type);  ///< u8, i8, ..., bool, string, array, u64, i64, f64

/// Values of one type. Lists of lists are refused.
struct List {
  ValueType of = ValueType::u8;    ///< neither `list` nor unknown
  uint64_t count = 0;              ///< elements
  std::string bytes;               ///< of numbers, as in the file; empty for texts
  std::vector<std::string> texts;  ///< of texts; empty for numbers

  static List of_texts(std::vector<std::string> texts);         ///< a list of strings
  static List of_numbers(const std::vector<int32_t>& numbers);  ///< a list of i32
  std::string shown(uint64_t at) const;                         ///< one element as readable text
  bool operator==(const List&) const = default;
};

/// A value of any type, in the order of ValueType.
using Value = std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string,
                           List, uint64_t, int64_t, double>;
/// Values by key, in the file's order.
using Keys = std::vector<std::pair<std::string, Value>>;

/// How a tensor's numbers are stored: one of ggml's types, in blocks along its innermost dimension.
struct TensorType {
  uint32_t number = 0;    ///< ggml's
  std::string_view name;  ///< ggml's name: F32, Q8_0
  uint64_t block = 1;     ///< numbers in a block
  uint64_t bytes = 4;     ///< of a block
};
const TensorType& f32();   ///< float32
const TensorType& f16();   ///< IEEE's half precision
const TensorType& q8_0();  ///< blocks of 32: a float16 scale and 32 whole numbers of 8 bits

/// A tensor of a file.
struct Tensor {
  std::string name;             ///< its key among the tensors
  std::vector<uint64_t> shape;  ///< outermost dimension first, as in PyTorch; the file has the reverse order
  TensorType type;              ///< of its numbers
  uint64_t begin = 0;           ///< bytes from the first tensor's beginning
  uint64_t bytes = 0;           ///< without padding
};

/// The keys and the list of tensors of a file.
struct Header {
  Keys keys;                    ///< each once
  std::vector<Tensor> tensors;  ///< in the order of their bytes
  uint64_t alignment = 32;      ///< bytes: general.alignment, if it is there
  uint64_t data_start = 0;      ///< place of the first tensor, from the beginning of the file

  const Value* find(std::string_view key) const;  ///< null if there is none
};

/// Whether a file begins as GGUF does; false also if it cannot be read.
bool is_gguf(const std::filesystem::path& path);

/// Reads all but the tensors' bytes of a file of version 2 or 3. Throws Error, naming the file and the place,
/// if it cannot be read or is malformed: unknown types, keys or names that are not UTF-8, empty or duplicate,
/// sizes that overflow or do not fit the type, tensors that overlap, leave a gap or are outside the file.
Header read_header(const std::filesystem::path& path);

/// A tensor to be written.
struct NewTensor {
  std::string name;                     ///< its key among the tensors
  std::vector<uint64_t> shape;          ///< outermost dimension first; the last one is whole blocks
  TensorType type;                      ///< of its numbers
  std::function<std::string()> values;  ///< makes the bytes, called when they are written
};

/// Writes a file of version 3, aligned to 32 bytes. Throws std::logic_error if a tensor has other bytes.
void write(std::ostream& out, const Keys& keys, const std::vector<NewTensor>& tensors);

}  // namespace gradus::gguf

// The types of GGUF, and its writer.
#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <ostream>
#include <sstream>
#include <stdexcept>

#include "gradus/annexes/formats/gguf/types.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::gguf {
namespace {

constexpr std::string_view kValueNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                            "bool", "string", "array", "u64", "i64", "f64"};

// ggml.h and ggml-common.h; types that ggml has removed are omitted.
constexpr TensorType kTensorTypes[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17}};

std::string number_at(const List& list, uint64_t at) {
  return dispatch(list.of, [&]<class T>() -> std::string {
    if constexpr (std::is_same_v<T, bool>) {
      return list.bytes[at] ? "true" : "false";
    } else if constexpr (std::is_arithmetic_v<T>) {
      T value;
      std::memcpy(&value, list.bytes.data() + at * sizeof(T), sizeof(T));
      return concat(+value);  // + makes an integer of 8 bits an int
    } else {
      return "";
    }
  });
}

// -- writing

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

constexpr uint32_t kVersion = 3;

template <class T>
void put(std::ostream& out, T value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::ostream& out, const std::string& text) {
  put(out, uint64_t{text.size()});
  out << text;
}

void put(std::ostream& out, const List& list) {
  put(out, static_cast<uint32_t>(list.of));
  put(out, list.count);
  for (const std::string& text : list.texts) put(out, text);
  out << list.bytes;
}

void put(std::ostream& out, bool flag) { out.put(flag ? 1 : 0); }

std::string padding(uint64_t bytes) {
  return std::string((kAlignment - bytes % kAlignment) % kAlignment, '\0');
}

uint64_t size_of(const NewTensor& tensor) {
  uint64_t numbers = 1;
  for (const uint64_t size : tensor.shape) numbers *= size;
  return numbers / tensor.type.block * tensor.type.bytes;
}

std::string header_of(const Keys& keys, const std::vector<NewTensor>& tensors) {
  std::ostringstream out;
  out << kMagic;
  put(out, kVersion);
  put(out, uint64_t{tensors.size()});
  put(out, uint64_t{keys.size()});
  for (const auto& [key, value] : keys) {
    put(out, key);
    put(out, static_cast<uint32_t>(value.index()));
    std::visit([&](const auto& v) { put(out, v); }, value);
  }
  uint64_t offset = 0;
  for (const NewTensor& tensor : tensors) {
    put(out, tensor.name);
    put(out, static_cast<uint32_t>(tensor.shape.size()));
    for (size_t i = tensor.shape.size(); i > 0; --i) put(out, tensor.shape[i - 1]);
    put(out, tensor.type.number);
    put(out, offset);
    const uint64_t bytes = size_of(tensor);
    offset += bytes + padding(bytes).size();
  }
  return out.str();
}

}  // namespace

std::string_view name(ValueType type) { return kValueNames[static_cast<size_t>(type)]; }

const TensorType* tensor_type(uint32_t number) {
  const auto found = std::find_if(std::begin(kTensorTypes), std::end(kTensorTypes),
                                  [&](const TensorType& type) { return type.number == number; });
  return found == std::end(kTensorTypes) ? nullptr : found;
}

const TensorType& f32() { return *tensor_type(0); }
const TensorType& f16() { return *tensor_type(1); }
const TensorType& q8_0() { return *tensor_type(8); }

List List::of_texts(std::vector<std::string> texts) {
  const uint64_t count = texts.size();
  return {ValueType::text, count, "", std::move(texts)};
}

List List::of_numbers(const std::vector<int32_t>& numbers) {
  std::string bytes(numbers.size() * sizeof(int32_t), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return {ValueType::i32, numbers.size(), std::move(bytes), {}};
}

std::string List::shown(uint64_t at) const {
  return of == ValueType::text ? files::in_quotes(texts[at]) : number_at(*this, at);
}

const Value* Header::find(std::string_view key) const {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const auto& item) { return item.first == key; });
  return found == keys.end() ? nullptr : &found->second;
}

void write(std::ostream& out, const Keys& keys, const std::vector<NewTensor>& tensors) {
  const std::string header = header_of(keys, tensors);
  out << header << padding(header.size());
  for (const NewTensor& tensor : tensors) {
    const std::string values = tensor.values();
    if (values.size() != size_of(tensor))
      throw std::logic_error(
          concat(tensor.name, " must have ", size_of(tensor), " bytes, got ", values.size()));
    out << values << padding(values.size());
  }
}

}  // namespace gradus::gguf

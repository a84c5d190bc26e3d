// The names and sizes of GGUF's types.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/gguf/types.hpp"

namespace gradus::gguf {
namespace {

constexpr std::string_view kValueNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                            "bool", "string", "array", "u64", "i64", "f64"};
constexpr uint64_t kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// ggml.h and ggml-common.h; those that ggml has given up are left out.
constexpr TensorType kTensorTypes[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17}};

template <class T>
T element(std::string_view bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at * sizeof(T), sizeof(T));
  return value;
}

std::string number_at(const List& list, uint64_t at) {
  switch (list.of) {
    case ValueType::u8:
      return concat(unsigned{element<uint8_t>(list.bytes, at)});
    case ValueType::i8:
      return concat(int{element<int8_t>(list.bytes, at)});
    case ValueType::u16:
      return concat(element<uint16_t>(list.bytes, at));
    case ValueType::i16:
      return concat(element<int16_t>(list.bytes, at));
    case ValueType::u32:
      return concat(element<uint32_t>(list.bytes, at));
    case ValueType::i32:
      return concat(element<int32_t>(list.bytes, at));
    case ValueType::f32:
      return concat(element<float>(list.bytes, at));
    case ValueType::boolean:
      return list.bytes[at] ? "true" : "false";
    case ValueType::u64:
      return concat(element<uint64_t>(list.bytes, at));
    case ValueType::i64:
      return concat(element<int64_t>(list.bytes, at));
    default:
      return concat(element<double>(list.bytes, at));
  }
}

}  // namespace

std::string_view name(ValueType type) { return kValueNames[static_cast<size_t>(type)]; }

uint64_t bytes_of(ValueType type) { return kValueBytes[static_cast<size_t>(type)]; }

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

}  // namespace gradus::gguf

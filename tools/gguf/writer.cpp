// Writing GGUF.
#include <bit>
#include <ostream>
#include <sstream>
#include <stdexcept>

#include "gradus/files/error.hpp"
#include "gradus/tools/gguf/types.hpp"

namespace gradus::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

constexpr uint32_t kVersion = 3;

template <class T>
void put(std::ostream& out, T value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::ostream& out, std::string_view text) {
  put(out, uint64_t{text.size()});
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

void put(std::ostream& out, const std::string& text) { put(out, std::string_view(text)); }

void put(std::ostream& out, const List& list) {
  put(out, static_cast<uint32_t>(list.of));
  put(out, list.count);
  for (const std::string& text : list.texts) put(out, text);
  out.write(list.bytes.data(), static_cast<std::streamsize>(list.bytes.size()));
}

void put(std::ostream& out, bool flag) { out.put(flag ? 1 : 0); }

uint64_t padding(uint64_t bytes) { return (kAlignment - bytes % kAlignment) % kAlignment; }

void pad(std::ostream& out, uint64_t bytes) {
  for (uint64_t left = padding(bytes); left > 0; --left) out.put(0);
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
    offset += bytes + padding(bytes);
  }
  return out.str();
}

}  // namespace

void write(std::ostream& out, const Keys& keys, const std::vector<NewTensor>& tensors) {
  const std::string header = header_of(keys, tensors);
  out << header;
  pad(out, header.size());
  for (const NewTensor& tensor : tensors) {
    const std::string values = tensor.values();
    if (values.size() != size_of(tensor))
      throw std::logic_error(
          concat(tensor.name, " must have ", size_of(tensor), " bytes, got ", values.size()));
    out << values;
    pad(out, values.size());
  }
}

}  // namespace gradus::gguf

// GGUF files put together byte by byte, by the specification, for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace gradus::testing {

/// The bytes of a file, written one after another.
class GgufBytes {
 public:
  template <class T>
  GgufBytes& number(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
    return *this;
  }
  GgufBytes& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  GgufBytes& text(std::string_view text) { return number(uint64_t{text.size()}).raw(text); }
  GgufBytes& start(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    return raw("GGUF").number(version).number(tensors).number(keys);
  }
  GgufBytes& key(std::string_view name, uint32_t type) { return text(name).number(type); }
  /// `sizes`: the innermost first, as the file has them.
  GgufBytes& tensor(std::string_view name, std::initializer_list<uint64_t> sizes, uint32_t type,
                    uint64_t at) {
    text(name).number(static_cast<uint32_t>(sizes.size()));
    for (const uint64_t size : sizes) number(size);
    return number(type).number(at);
  }
  GgufBytes& pad(size_t to) {
    text_.resize((text_.size() + to - 1) / to * to);
    return *this;
  }
  const std::string& bytes() const { return text_; }

 private:
  std::string text_;
};

/// A file that has a value of each kind and two tensors: "a", (2, 3) of F32, and "b", (32,) of Q8_0.
inline std::string small_gguf() {
  GgufBytes file;
  file.start(2, 6);
  file.key("general.architecture", 8).text("gpt2");
  file.key("eps", 6).number(1e-5F);
  file.key("flag", 7).number(uint8_t{1});
  file.key("ids", 9)
      .number(uint32_t{5})
      .number(uint64_t{3})
      .number(int32_t{-1})
      .number(int32_t{0})
      .number(int32_t{7});
  file.key("tokens", 9).number(uint32_t{8}).number(uint64_t{2}).text("a").text("");
  file.key("big", 10).number(uint64_t{1} << 40);
  file.tensor("a", {3, 2}, 0, 0).tensor("b", {32}, 8, 32);
  file.pad(32).raw(std::string(24, 'x')).pad(32).raw(std::string(34, 'y')).pad(32);
  return file.bytes();
}

}  // namespace gradus::testing

#include "gradus/data/pairs/byte_letters.hpp"

#include "gradus/files/utf8.hpp"

namespace gradus::data::pairs {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr size_t kLetters = 0x144;  // 256 bytes, 188 of which stand for themselves

constexpr bool prints(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Letters {
  std::array<char32_t, kBytes> of_byte{};
  std::array<int, kLetters> byte_of{};
  std::array<unsigned char, kBytes> by_letter{};

  constexpr Letters() {
    for (int& byte : byte_of) byte = -1;
    char32_t stand_in = kFirstStandIn;
    for (int byte = 0; byte < kBytes; ++byte) {
      const auto at = static_cast<size_t>(byte);
      of_byte[at] = prints(byte) ? static_cast<char32_t>(byte) : stand_in++;
      byte_of[of_byte[at]] = byte;
    }
    size_t next = 0;
    for (const int byte : byte_of)
      if (byte >= 0) by_letter[next++] = static_cast<unsigned char>(byte);
  }
};
constexpr Letters kTable;

}  // namespace

char32_t letter_of(unsigned char byte) { return kTable.of_byte[byte]; }

std::optional<unsigned char> byte_of(char32_t letter) {
  if (letter >= kLetters || kTable.byte_of[letter] < 0) return {};
  return static_cast<unsigned char>(kTable.byte_of[letter]);
}

std::string letters_of(std::string_view bytes) {
  std::string letters;
  for (const char byte : bytes) letters += files::to_utf8(letter_of(static_cast<unsigned char>(byte)));
  return letters;
}

std::optional<std::string> bytes_of(std::string_view letters) {
  std::string bytes;
  while (!letters.empty()) {
    const files::CodePoint letter = files::first_code_point(letters);
    const std::optional<unsigned char> byte = byte_of(letter.value);
    if (letter.size == 0 || !byte) return {};
    bytes += static_cast<char>(*byte);
    letters.remove_prefix(static_cast<size_t>(letter.size));
  }
  return bytes;
}

const std::array<unsigned char, kBytes>& bytes_by_letter() { return kTable.by_letter; }

}  // namespace gradus::data::pairs

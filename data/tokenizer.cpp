#include "gradus/data/tokenizer.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "gradus/autograd/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

constexpr char32_t kCodePoints = 0x110000;

/// Calls f(code point) for each character. Throws Error naming `op` if the text is not UTF-8.
template <class F>
void for_each_character(std::string_view op, std::string_view text, F&& f) {
  for (size_t offset = 0; offset < text.size();) {
    const files::CodePoint c = files::first_code_point(text.substr(offset));
    if (c.size == 0) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[offset]));
      fail(op, "the text must be UTF-8, got byte ", byte, " at byte offset ", offset,
           ", where no character starts. Hint: save the text as UTF-8, or use `tokenizer` byte.");
    }
    f(c.value);
    offset += c.size;
  }
}

/// What encode() found that the vocabulary lacks: the first few characters, where they stand, how many more
/// there are.
class Unknown {
 public:
  void add(char32_t character, int64_t place) {
    if (!seen_.insert(character).second) return;
    if (seen_.size() <= kNamed) {
      named_ += concat(named_.empty() ? "" : ", ", files::quoted(character), ", at character ", place);
    }
  }
  void fail_if_any() const {
    if (seen_.empty()) return;
    const std::string more = seen_.size() > kNamed ? concat(", and ", seen_.size() - kNamed, " more") : "";
    fail(
        "encode", "the vocabulary has no ", named_, more,
        ". Hint: use only characters of the training text, or train with `tokenizer` byte, which knows all.");
  }

 private:
  static constexpr size_t kNamed = 3;
  std::set<char32_t> seen_;
  std::string named_;
};

}  // namespace

Tokenizer Tokenizer::characters(std::string_view text) {
  if (text.empty()) fail("tokenizer", "the text must have at least one character, got none.");
  std::vector<bool> seen(kCodePoints);
  for_each_character("tokenizer", text, [&](char32_t c) { seen[c] = true; });
  std::u32string characters;
  for (char32_t c = 0; c < kCodePoints; ++c) {
    if (seen[c]) characters += c;
  }
  return Tokenizer(std::move(characters));
}

Tokenizer Tokenizer::bytes() { return Tokenizer(std::u32string()); }

Tokenizer Tokenizer::make(std::string_view kind, std::string_view text) {
  if (kind == "char") return characters(text);
  if (kind == "byte") return bytes();
  fail("tokenizer", "the kind must be char or byte, got '", kind, "'.");
}

bool Tokenizer::has(char32_t character) const {
  return characters_.empty() || std::binary_search(characters_.begin(), characters_.end(), character);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> tokens;
  tokens.reserve(text.size());
  if (characters_.empty()) {
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  Unknown unknown;
  int64_t place = 0;
  for_each_character("encode", text, [&](char32_t c) {
    ++place;
    const auto found = std::lower_bound(characters_.begin(), characters_.end(), c);
    if (found == characters_.end() || *found != c) unknown.add(c, place);
    tokens.push_back(static_cast<int32_t>(found - characters_.begin()));
  });
  unknown.fail_if_any();
  return tokens;
}

char32_t Tokenizer::character(int32_t token) const {
  if (token < 0 || token >= vocab_size()) {
    fail("decode", "tokens must be in [0, ", vocab_size(), "), got ", token, ".");
  }
  return characters_.empty() ? static_cast<char32_t>(token) : characters_[token];
}

std::string Tokenizer::decode(std::span<const int32_t> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (const int32_t token : tokens) {
    const char32_t c = character(token);
    if (characters_.empty()) {
      text += static_cast<char>(c);
    } else {
      text += files::to_utf8(c);
    }
  }
  return text;
}

int64_t Tokenizer::byte_count(std::span<const int32_t> tokens) const {
  int64_t count = 0;
  for (const int32_t token : tokens) {
    const char32_t c = character(token);
    count += characters_.empty() || c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  }
  return count;
}

std::string Tokenizer::to_json() const {
  nlohmann::ordered_json json = {{"tokenizer", kind()}};
  if (!characters_.empty()) {
    std::string text;
    for (const char32_t c : characters_) text += files::to_utf8(c);
    json["characters"] = text;
  }
  return json.dump(2) + "\n";
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "vocabulary", file);
  const files::Field root = json.root(), kind = root.at("tokenizer");
  if (kind.text() != "char" && kind.text() != "byte")
    kind.refuse("must be char or byte, got ", kind.shown(), ".");
  if (kind.text() == "byte") {
    root.must_have_only({"tokenizer"});
    return bytes();
  }
  root.must_have_only({"tokenizer", "characters"});

  const files::Field field = root.at("characters");
  std::u32string characters;
  for_each_character("vocabulary", field.text(), [&](char32_t c) {
    if (!characters.empty() && c <= characters.back())
      field.refuse("must ascend, got ", files::quoted(c), " after ", files::quoted(characters.back()), ".");
    characters += c;
  });
  if (characters.empty()) field.refuse("must not be empty.");
  return Tokenizer(std::move(characters));
}

}  // namespace gradus::data

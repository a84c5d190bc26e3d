// Text -> the nodes of a Json, from left to right, with a stack of its own.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>

#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::files {

class JsonParser {
 public:
  JsonParser(std::string_view text, Json& json) : text_(text), json_(json) {}

  void parse() {
    if (text_.size() > std::numeric_limits<uint32_t>::max())
      fail(json_.op_, plain(json_.file_), " must be JSON of less than 4 GiB, got ", text_.size(), " bytes.");
    if (text_.starts_with("\xEF\xBB\xBF"))
      fail(json_.op_, plain(json_.file_), " must be JSON, got a byte order mark. Hint: save it without.");
    value();
    while (!open_.empty()) element_or_end();
    skip_space();
    if (!at_end()) refuse("the end");
  }

 private:
  using Kind = Json::Kind;
  using Node = Json::Node;

  bool at_end() const { return at_ == text_.size(); }
  /// A zero byte at the end, which no rule takes, as anywhere else.
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  [[noreturn]] void refuse(std::string_view wanted) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t column = at_ - (before.rfind('\n') + 1) + 1;
    fail(json_.op_, plain(json_.file_), " must be JSON, got ", got(), " at line ", line, ", column ", column,
         ", where ", wanted, " should be.");
  }
  std::string got() const {
    if (at_end()) return "the end";
    if (peek() == '\0') return "a zero byte";
    const CodePoint c = first_code_point(text_.substr(at_));
    return in_quotes(text_.substr(at_, c.size == 0 ? 1 : static_cast<size_t>(c.size)));
  }

  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }
  void expect(char c) {
    if (peek() != c) refuse(std::string("'") + c + "'");
    ++at_;
  }

  // -- lists and objects

  void open(Kind kind) {
    if (open_.size() == Json::kDeepest)
      refuse(concat("nothing deeper than ", Json::kDeepest, " lists and objects"));
    ++at_;
    open_.push_back(json_.nodes_.size());
    json_.nodes_.emplace_back().kind = kind;
  }

  void element_or_end() {
    const size_t container = open_.back();
    const bool in_object = json_.nodes_[container].kind == Kind::object;
    const bool first = json_.nodes_[container].size == 0;
    const char end = in_object ? '}' : ']';
    skip_space();
    if (peek() == end) return close();
    if (!first) {
      if (peek() != ',') refuse(concat("',' or '", end, "'"));
      ++at_;
      skip_space();
    }
    if (in_object) {
      if (peek() != '"') refuse(first ? "a key in quotes or '}'" : "a key in quotes");
      string();
      skip_space();
      expect(':');
    }
    ++json_.nodes_[container].size;
    value();
  }

  void close() {
    Node& container = json_.nodes_[open_.back()];
    container.next = json_.nodes_.size();
    if (container.kind == Kind::object) check_keys(open_.back());
    open_.pop_back();
    ++at_;
  }

  /// Two readers of equal keys could see two different files.
  void check_keys(size_t object) const {
    std::vector<std::string_view> keys;
    for (size_t key = object + 1; key < json_.nodes_.size(); key = json_.next(key + 1))
      keys.push_back(json_.text_of(json_.nodes_[key]));
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end())
      fail(json_.op_, plain(json_.file_), " must have keys of their own in an object, got ",
           in_quotes(*twice), " twice.");
  }

  // -- values

  void value() {
    skip_space();
    switch (peek()) {
      case '{':
        return open(Kind::object);
      case '[':
        return open(Kind::list);
      case '"':
        return string();
      case 't':
        word("true");
        return flag(true);
      case 'f':
        word("false");
        return flag(false);
      case 'n':
        word("null");
        json_.nodes_.emplace_back();
        return;
      default:
        return number();
    }
  }

  void word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) refuse("a value");
    at_ += word.size();
  }

  void flag(bool value) {
    Node& node = json_.nodes_.emplace_back();
    node.kind = Kind::flag;
    node.integer = value;
  }

  bool is_digit() const { return peek() >= '0' && peek() <= '9'; }
  void digits(std::string_view wanted) {
    if (!is_digit()) refuse(wanted);
    while (is_digit()) ++at_;
  }

  void number() {
    const size_t begin = at_;
    bool whole = true;
    if (peek() == '-') ++at_;
    if (peek() == '0')
      ++at_;
    else
      digits(at_ == begin ? "a value" : "a digit");
    if (peek() == '.') {
      whole = false;
      ++at_;
      digits("a digit");
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits("a digit");
    }
    store_number(text_.substr(begin, at_ - begin), whole);
  }

  void store_number(std::string_view digits, bool whole) {
    Node& node = json_.nodes_.emplace_back();
    const auto read = [&](Kind kind, auto& value) {
      node.kind = kind;
      return std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc{};
    };
    if (whole && (read(Kind::integer, node.integer) || read(Kind::large, node.large))) return;
    if (read(Kind::number, node.number)) return;
    at_ -= digits.size();
    refuse("a number that a float64 can hold");
  }

  // -- strings

  void string() {
    const size_t begin = json_.texts_.size();
    ++at_;
    while (peek() != '"') character();
    ++at_;
    Node& node = json_.nodes_.emplace_back();
    node.kind = Kind::text;
    node.begin = begin;
    node.size = static_cast<uint32_t>(json_.texts_.size() - begin);
  }

  void character() {
    if (at_end()) refuse("a closing quote");
    if (peek() == '\\') return escape();
    const CodePoint c = first_code_point(text_.substr(at_));
    if (c.size == 0) refuse("a character in UTF-8");
    if (c.value < 0x20) refuse("a closing quote or a control character as \\u00..");
    json_.texts_ += text_.substr(at_, static_cast<size_t>(c.size));
    at_ += static_cast<size_t>(c.size);
  }

  void escape() {
    ++at_;
    constexpr std::string_view codes = "\"\\/bfnrt", characters = "\"\\/\b\f\n\r\t";
    if (const size_t i = codes.find(peek()); !at_end() && i != codes.npos) {
      json_.texts_ += characters[i];
      ++at_;
      return;
    }
    if (peek() != 'u') refuse("one of \"\\/bfnrtu behind a backslash");
    ++at_;
    char32_t c = unit();
    if (c >= 0xD800 && c < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const char32_t low = unit();
      if (low < 0xDC00 || low > 0xDFFF) refuse("the second half of a pair of surrogates before this");
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    } else if (c >= 0xD800 && c < 0xE000) {
      refuse("a pair of surrogates before this");
    }
    json_.texts_ += to_utf8(c);
  }

  /// Four hexadecimal digits.
  char32_t unit() {
    char32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse("a hexadecimal digit");
      value = value << 4 | static_cast<char32_t>(digit);
    }
    return value;
  }

  std::string_view text_;
  Json& json_;
  size_t at_ = 0;
  std::vector<size_t> open_;  // nodes of the lists and objects that are not yet closed
};

Json::Json(std::string_view text, std::string op, std::string file)
    : op_(std::move(op)), file_(std::move(file)) {
  JsonParser(text, *this).parse();
}

}  // namespace gradus::files

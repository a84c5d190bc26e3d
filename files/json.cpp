#include "gradus/files/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::files {
namespace {

/// The text has a point or an exponent, unlike that of a whole number.
std::string shown_number(double value) {
  std::array<char, 32> buffer;
  const std::string text(buffer.data(),
                         std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

/// A key as a part of a place: in quotes unless it is a plain word.
std::string shown_key(std::string_view key) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; };
  const bool plain = !key.empty() && key.size() <= 60 && std::ranges::all_of(key, is_plain);
  return plain ? std::string(key) : in_quotes(key);
}

}  // namespace

/// Stores the values that nlohmann-json reads, without recursion, and refuses values that it wrongly accepts.
class JsonParser {
 public:
  JsonParser(std::string_view text, Json& json, int64_t first_line)
      : text_(text), json_(json), first_line_(first_line) {}

  void parse() {
    if (text_.size() > std::numeric_limits<uint32_t>::max())
      fail(json_.op_, plain(json_.file_), " must be JSON of less than 4 GiB, got ", text_.size(), " bytes.");
    if (const std::string other = other_file(text_.substr(0, 64)); !other.empty())
      fail(json_.op_, plain(json_.file_), " must be JSON, got ", other);
    if (text_.starts_with("\xEF\xBB\xBF"))
      fail(json_.op_, plain(json_.file_), " must be JSON, got a byte order mark. Hint: save it without.");
    // nlohmann-json takes it for the end of the text.
    if (const size_t zero = text_.find('\0'); zero != text_.npos)
      refuse(zero, "a zero byte is no part of JSON");
    json_.texts_.reserve(text_.size());
    nlohmann::json::sax_parse(text_, this);
  }

  // The interface of nlohmann-json's handlers; false would end the parsing.

  bool null() { return add(Kind::null, 0), true; }
  bool boolean(bool value) { return add(Kind::flag, 0).integer = value, true; }
  bool number_integer(int64_t value) { return add(Kind::integer, 0).integer = value, true; }
  bool number_unsigned(uint64_t value) {
    const bool large = value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return add(large ? Kind::large : Kind::integer, 0).large = value, true;
  }
  bool number_float(double value, const std::string& digits) {
    if (value == 0 && digits.find_first_of("123456789") < digits.find_first_of("eE"))
      fail(json_.op_, plain(json_.file_), " must have numbers that a float64 can hold, got ",
           digits.substr(0, kLongest), ".");
    return add(Kind::number, 0).number = value, true;
  }
  bool string(const std::string& text) {
    Node& node = add(Kind::text, text.size());
    node.begin = json_.texts_.size();
    json_.texts_ += text;
    return true;
  }
  bool key(const std::string& text) {
    string(text);
    --json_.nodes_[open_.back()].size;  // A key and its value are one element.
    return true;
  }
  bool start_object(size_t) { return open(Kind::object); }
  bool start_array(size_t) { return open(Kind::list); }
  bool end_object() {
    check_keys(open_.back());
    return close();
  }
  bool end_array() { return close(); }
  bool binary(const nlohmann::json::binary_t&) { return false; }  // JSON has none

  template <class Fault>
  bool parse_error(size_t position, const std::string&, const Fault& fault) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value -
    // invalid literal; last read: 'x'"
    std::string_view what = fault.what();
    what = what.substr(0, what.find("; last read: "));
    for (const std::string_view before : {"] ", "column ", ": ", " - "})
      what.remove_prefix(what.find(before) == what.npos ? 0 : what.find(before) + before.size());
    refuse(std::min(position, text_.size() + 1) - 1, what.substr(0, kLongest));
  }

 private:
  using Kind = Json::Kind;
  using Node = Json::Node;
  static constexpr size_t kLongest = 200;  // bytes of a number in a message

  [[noreturn]] void refuse(size_t at, std::string_view why) const {
    const std::string_view before = text_.substr(0, at), rest = text_.substr(at);
    const auto line = first_line_ + std::ranges::count(before, '\n');
    const auto size = static_cast<size_t>(std::max(first_code_point(rest).size, 1));
    fail(json_.op_, plain(json_.file_), " must be JSON, got ",
         rest.empty() ? "the end" : in_quotes(rest.substr(0, size)), " at line ", line, ", column ",
         at - (before.rfind('\n') + 1) + 1, ": ", why, ".");
  }

  Node& add(Kind kind, size_t size) {
    if (!open_.empty()) ++json_.nodes_[open_.back()].size;
    Node& node = json_.nodes_.emplace_back();
    node.kind = kind;
    node.size = static_cast<uint32_t>(size);
    return node;
  }

  bool open(Kind kind) {
    if (open_.size() == Json::kDeepest)
      fail(json_.op_, plain(json_.file_), " must have at most ", Json::kDeepest,
           " lists and objects inside one another, got more.");
    add(kind, 0);
    open_.push_back(json_.nodes_.size() - 1);
    return true;
  }
  bool close() {
    json_.nodes_[open_.back()].next = json_.nodes_.size();
    open_.pop_back();
    return true;
  }

  /// Refuses equal keys, because readers could use different values.
  void check_keys(size_t object) const {
    std::vector<std::string_view> keys;
    for (size_t key = object + 1; key < json_.nodes_.size(); key = json_.next(key + 1))
      keys.push_back(json_.text_of(json_.nodes_[key]));
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end())
      fail(json_.op_, plain(json_.file_), " must have different keys in an object, got ", in_quotes(*twice),
           " twice.");
  }

  std::string_view text_;
  Json& json_;
  int64_t first_line_;
  std::vector<size_t> open_;  // nodes of lists and objects that are not closed
};

Json::Json(std::string_view text, std::string op, std::string file, int64_t first_line)
    : op_(std::move(op)), file_(std::move(file)) {
  JsonParser(text, *this, first_line).parse();
}

size_t Json::next(size_t node) const {
  const Node& n = nodes_[node];
  return n.kind == Kind::list || n.kind == Kind::object ? static_cast<size_t>(n.next) : node + 1;
}

std::string_view Json::text_of(const Node& node) const {
  return std::string_view(texts_).substr(static_cast<size_t>(node.begin), node.size);
}

std::string Json::place(size_t node) const {
  std::string place;
  size_t at = 0;
  while (at != node) {  // goes down to the child with the node
    const bool is_object = nodes_[at].kind == Kind::object;
    size_t child = at + 1, key = child, index = 0;
    for (;; ++index) {
      key = child;
      if (is_object) ++child;
      if (node < next(child)) break;
      child = next(child);
    }
    if (is_object)
      place += concat(place.empty() ? "" : ", ", shown_key(text_of(nodes_[key])));
    else
      place += concat("[", index, "]");
    at = child;
  }
  return place;
}

std::string Field::shown() const {
  const Json::Node& n = node();
  if (n.kind == Kind::null) return "null";
  if (n.kind == Kind::flag) return n.integer ? "true" : "false";
  if (n.kind == Kind::text) return in_quotes(json_->text_of(n));
  if (n.kind == Kind::list) return concat("a list of ", n.size);
  if (n.kind == Kind::object) return concat("an object of ", n.size);
  if (n.kind == Kind::number) return shown_number(n.number);
  return n.kind == Kind::large ? std::to_string(n.large) : std::to_string(n.integer);
}

std::string Field::beginning() const {
  const std::string place = json_->place(node_);
  return concat("[", json_->op_, "] ", plain(json_->file_), place.empty() ? "" : ": ", place, " ");
}

void Field::must_be(bool is, std::string_view what) const {
  if (!is) refuse("must be ", what, ", got ", shown(), ".");
}

bool Field::flag() const {
  must_be(is_flag(), "true or false");
  return node().integer != 0;
}

std::string_view Field::text() const {
  must_be(is_text(), "a string");
  return json_->text_of(node());
}

double Field::number() const {
  must_be(is_number(), "a number");
  const Json::Node& n = node();
  if (n.kind == Kind::number) return n.number;
  return n.kind == Kind::large ? static_cast<double>(n.large) : static_cast<double>(n.integer);
}

int64_t Field::integer() const {
  must_be(kind() == Kind::integer, "a whole number of 64 bits");
  return node().integer;
}

int64_t Field::integer(int64_t least, int64_t most) const {
  const Json::Node& n = node();
  const bool fits = n.kind == Kind::integer && n.integer >= least && n.integer <= most;
  if (most == std::numeric_limits<int64_t>::max())
    must_be(fits, concat("a whole number of at least ", least));
  else
    must_be(fits, concat("a whole number from ", least, " to ", most));
  return n.integer;
}

uint64_t Field::unsigned_integer() const {
  const Json::Node& n = node();
  must_be(n.kind == Kind::large || (n.kind == Kind::integer && n.integer >= 0),
          "a whole number of at least 0");
  return n.kind == Kind::large ? n.large : static_cast<uint64_t>(n.integer);
}

size_t Field::size() const {
  must_be(is_list() || is_object(), "a list or an object");
  return node().size;
}

std::vector<Field> Field::items() const {
  must_be(is_list(), "a list");
  std::vector<Field> items;
  items.reserve(size());
  for (size_t i = 0, at = node_ + 1; i < node().size; ++i, at = json_->next(at))
    items.emplace_back(*json_, at);
  return items;
}

std::vector<std::pair<std::string_view, Field>> Field::members() const {
  must_be(is_object(), "an object");
  std::vector<std::pair<std::string_view, Field>> members;
  members.reserve(size());
  for (size_t i = 0, key = node_ + 1; i < node().size; ++i, key = json_->next(key + 1))
    members.emplace_back(json_->text_of(json_->nodes_[key]), Field(*json_, key + 1));
  return members;
}

std::optional<Field> Field::find(std::string_view key) const {
  must_be(is_object(), "an object");
  for (size_t i = 0, at = node_ + 1; i < node().size; ++i, at = json_->next(at + 1))
    if (json_->text_of(json_->nodes_[at]) == key) return Field(*json_, at + 1);
  return {};
}

std::optional<Field> Field::given(std::string_view key) const {
  const std::optional<Field> field = find(key);
  return field && !field->is_null() ? field : std::nullopt;
}

Field Field::at(std::string_view key) const {
  const std::optional<Field> found = find(key);
  if (!found) refuse("must have a field '", key, "'.");
  return *found;
}

std::vector<std::string> Field::texts() const {
  std::vector<std::string> texts;
  for (const Field& item : items()) texts.emplace_back(item.text());
  return texts;
}

void Field::must_have_only(const std::vector<std::string_view>& known) const {
  for (const auto& [key, value] : members())
    if (std::ranges::find(known, key) == known.end())
      refuse("must have no field ", in_quotes(key), ". Hint: it may have ", joined(known), ".");
}

void check_members(const Field& object, std::span<const std::string_view> known,
                   std::span<const Harmless> harmless, bool is_false_usual) {
  for (const auto& [key, value] : object.members()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string name = concat(" ", key, " "), with_value = concat(" ", key, "=", value.shown(), " ");
    const auto is_it = [&](const Harmless& one) {
      const std::string names = concat(" ", one.names);
      return names.find(name) != names.npos || names.find(with_value) != names.npos;
    };
    const bool is_empty = value.is_null() || (is_false_usual && value.is_flag() && !value.flag()) ||
                          (value.is_text() && value.text().empty()) ||
                          ((value.is_list() || value.is_object()) && value.size() == 0);
    if (is_empty || std::ranges::any_of(harmless, is_it)) continue;
    value.refuse("is not read and may change the meaning; it must be left out, got ", value.shown(), ".");
  }
}

std::string json_text(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (c.size == 0) fail("json", "text must be UTF-8, got ", in_quotes(text), ".");
    if (c.value == '"' || c.value == '\\') {
      result += '\\';
      result += text[0];
    } else if (c.value < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c.value));
      result += code;
    } else {
      result += text.substr(0, static_cast<size_t>(c.size));
    }
    text.remove_prefix(static_cast<size_t>(c.size));
  }
  return result + '"';
}

void must_be_off(const Field& object, std::string_view key) {
  const std::optional<Field> field = object.given(key);
  if (!field || (field->is_flag() && !field->flag()) || (field->is_text() && field->text().empty()) ||
      (field->is_number() && field->number() == 0))
    return;
  field->refuse("must be null or off, got ", field->shown(), ".");
}

}  // namespace gradus::files

// Text -> the nodes of a Json. nlohmann-json reads it, without recursion, and calls a handler for each value;
// the handler stores the values and refuses what that reader lets pass.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

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
    // nlohmann-json would take it for the end of the text.
    if (const size_t zero = text_.find('\0'); zero != text_.npos)
      refuse(zero, "a zero byte is no part of JSON");
    nlohmann::json::sax_parse(text_, this);
  }

  // -- what nlohmann-json calls, with names of its choice; false would end the parsing

  bool null() { return add(Kind::null, 0), true; }
  bool boolean(bool value) { return add(Kind::flag, 0).integer = value, true; }
  bool number_integer(int64_t value) { return add(Kind::integer, 0).integer = value, true; }
  bool number_unsigned(uint64_t value) {
    const bool large = value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return add(large ? Kind::large : Kind::integer, 0).large = value, true;
  }
  bool number_float(double value, const std::string& digits) {
    if (value == 0 && digits.find_first_of("123456789") < digits.find_first_of("eE"))
      fail(json_.op_, plain(json_.file_), " must have numbers that a float64 can hold, got ", digits, ".");
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
    refuse(std::min(position, text_.size() + 1) - 1, what);
  }

 private:
  using Kind = Json::Kind;
  using Node = Json::Node;

  [[noreturn]] void refuse(size_t at, std::string_view why) const {
    const std::string_view before = text_.substr(0, at), rest = text_.substr(at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
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

  /// Two readers of an object with equal keys could see two different values.
  void check_keys(size_t object) const {
    std::vector<std::string_view> keys;
    for (size_t key = object + 1; key < json_.nodes_.size(); key = json_.next(key + 1))
      keys.push_back(json_.text_of(json_.nodes_[key]));
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end())
      fail(json_.op_, plain(json_.file_), " must have different keys in an object, got ", in_quotes(*twice),
           " twice.");
  }

  std::string_view text_;
  Json& json_;
  std::vector<size_t> open_;  // nodes of the lists and objects that are not yet closed
};

Json::Json(std::string_view text, std::string op, std::string file)
    : op_(std::move(op)), file_(std::move(file)) {
  JsonParser(text, *this).parse();
}

}  // namespace gradus::files

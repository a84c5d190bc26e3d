#include "gradus/files/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::files {
namespace {

/// With a point or an exponent, to be told from a whole number.
std::string shown_number(double value) {
  std::array<char, 32> buffer;
  const std::string text(buffer.data(),
                         std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

/// A key as a step of a place: as it is if it is a plain word.
std::string shown_key(std::string_view key) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; };
  const bool plain = !key.empty() && key.size() <= 60 && std::all_of(key.begin(), key.end(), is_plain);
  return plain ? std::string(key) : in_quotes(key);
}

}  // namespace

// -- the whole

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
  if (const auto name = names_.find(0); name != names_.end()) place = name->second;
  while (at != node) {  // one step down, to the child that holds the node
    const bool is_object = nodes_[at].kind == Kind::object;
    size_t child = at + 1, key = child, index = 0;
    for (;; ++index) {
      key = child;
      if (is_object) ++child;
      if (node < next(child)) break;
      child = next(child);
    }
    if (const auto name = names_.find(child); name != names_.end())
      place = name->second;
    else if (is_object)
      place += concat(place.empty() ? "" : ", ", shown_key(text_of(nodes_[key])));
    else
      place += concat("[", index, "]");
    at = child;
  }
  return place;
}

// -- what a value is

bool Field::is_null() const { return json_->nodes_[node_].kind == Json::Kind::null; }
bool Field::is_flag() const { return json_->nodes_[node_].kind == Json::Kind::flag; }
bool Field::is_text() const { return json_->nodes_[node_].kind == Json::Kind::text; }
bool Field::is_list() const { return json_->nodes_[node_].kind == Json::Kind::list; }
bool Field::is_object() const { return json_->nodes_[node_].kind == Json::Kind::object; }
bool Field::is_integer() const {
  const Json::Kind kind = json_->nodes_[node_].kind;
  return kind == Json::Kind::integer || kind == Json::Kind::large;
}
bool Field::is_number() const { return is_integer() || json_->nodes_[node_].kind == Json::Kind::number; }

std::string Field::shown() const {
  const Json::Node& n = json_->nodes_[node_];
  switch (n.kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::flag:
      return n.integer ? "true" : "false";
    case Json::Kind::integer:
      return std::to_string(n.integer);
    case Json::Kind::large:
      return std::to_string(n.large);
    case Json::Kind::number:
      return shown_number(n.number);
    case Json::Kind::text:
      return in_quotes(json_->text_of(n));
    case Json::Kind::list:
      return concat("a list of ", n.size);
    case Json::Kind::object:
      return concat("an object of ", n.size);
  }
  return {};  // no other kind
}

std::string Field::beginning() const {
  const std::string place = json_->place(node_);
  return concat("[", json_->op_, "] ", plain(json_->file_), place.empty() ? "" : ": ", place, " ");
}

void Field::must_be(bool is, std::string_view what) const {
  if (!is) refuse("must be ", what, ", got ", shown(), ".");
}

// -- single values

bool Field::flag() const {
  must_be(is_flag(), "true or false");
  return json_->nodes_[node_].integer != 0;
}

std::string_view Field::text() const {
  must_be(is_text(), "a string");
  return json_->text_of(json_->nodes_[node_]);
}

double Field::number() const {
  must_be(is_number(), "a number");
  const Json::Node& n = json_->nodes_[node_];
  if (n.kind == Json::Kind::number) return n.number;
  return n.kind == Json::Kind::large ? static_cast<double>(n.large) : static_cast<double>(n.integer);
}

double Field::extended_number() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_text() && text() == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (is_text() && text() == "inf") return kInfinity;
  if (is_text() && text() == "-inf") return -kInfinity;
  must_be(is_number(), "a number, 'nan', 'inf' or '-inf'");
  return number();
}

int64_t Field::integer() const {
  must_be(json_->nodes_[node_].kind == Json::Kind::integer, "a whole number of 64 bits");
  return json_->nodes_[node_].integer;
}

int64_t Field::integer(int64_t least, int64_t most) const {
  const Json::Node& n = json_->nodes_[node_];
  const bool fits = n.kind == Json::Kind::integer && n.integer >= least && n.integer <= most;
  if (most == std::numeric_limits<int64_t>::max())
    must_be(fits, concat("a whole number of at least ", least));
  else
    must_be(fits, concat("a whole number from ", least, " to ", most));
  return n.integer;
}

uint64_t Field::unsigned_integer() const {
  const Json::Node& n = json_->nodes_[node_];
  must_be(n.kind == Json::Kind::large || (n.kind == Json::Kind::integer && n.integer >= 0),
          "a whole number of at least 0");
  return n.kind == Json::Kind::large ? n.large : static_cast<uint64_t>(n.integer);
}

int64_t Field::bits() const {
  const Json::Node& n = json_->nodes_[node_];
  return n.kind == Json::Kind::large ? static_cast<int64_t>(n.large) : integer();
}

// -- lists and objects

size_t Field::size() const {
  must_be(is_list() || is_object(), "a list or an object");
  return json_->nodes_[node_].size;
}

/// Calls f(the child), which for an object is a key with its value behind it, until it returns false.
template <class F>
void Field::for_each_child(F&& f) const {
  const bool keyed = is_object();
  size_t child = node_ + 1;
  for (uint32_t i = 0; i < json_->nodes_[node_].size; ++i) {
    if (!f(child)) return;
    child = json_->next(keyed ? child + 1 : child);
  }
}

std::vector<Field> Field::items() const {
  must_be(is_list(), "a list");
  std::vector<Field> items;
  items.reserve(size());
  for_each_child([&](size_t child) {
    items.emplace_back(*json_, child);
    return true;
  });
  return items;
}

std::vector<std::pair<std::string_view, Field>> Field::members() const {
  must_be(is_object(), "an object");
  std::vector<std::pair<std::string_view, Field>> members;
  members.reserve(size());
  for_each_child([&](size_t key) {
    members.emplace_back(json_->text_of(json_->nodes_[key]), Field(*json_, key + 1));
    return true;
  });
  return members;
}

std::optional<Field> Field::find(std::string_view key) const {
  must_be(is_object(), "an object");
  std::optional<Field> found;
  for_each_child([&](size_t at) {
    if (json_->text_of(json_->nodes_[at]) == key) found = Field(*json_, at + 1);
    return !found;
  });
  return found;
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
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      std::string names;
      for (const std::string_view name : known) names += concat(names.empty() ? "" : ", ", name);
      refuse("must have no field ", in_quotes(key), ". Hint: it may have ", names, ".");
    }
}

// -- writing

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

}  // namespace gradus::files

// Strict JSON (RFC 8259), for files from any source.
//
// Json is a parsed text. Field is one of its values; it knows its place for errors, and checks the type that
// its reader asks for. Errors: bytes behind the value, equal keys in an object, text that is not UTF-8,
// numbers that a float64 cannot hold, and nesting deeper than kDeepest. Nothing recurses; a text of n bytes
// takes at most time n log n and memory of a small multiple of n. Thread-safety: immutable once parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus::files {

class Json;

/// A value of a Json, which must outlive it. Errors read `[op] file: place must be ..., got ....`, where the
/// place is the way from the whole: `inputs[2], shape[0]`.
class Field {
 public:
  /// For Json only: others call Json::root().
  Field(const Json& json, size_t node) : json_(&json), node_(node) {}

  bool is_null() const;     ///< null
  bool is_flag() const;     ///< true or false
  bool is_integer() const;  ///< a whole number of 64 bits, with or without sign
  bool is_number() const;   ///< any number, whole ones too
  bool is_text() const;     ///< "..."
  bool is_list() const;     ///< [...]
  bool is_object() const;   ///< {...}

  // Single values. Each throws Error if the value is another.
  bool flag() const;               ///< true or false
  std::string_view text() const;   ///< lives as long as the Json
  double number() const;           ///< rounded to the nearest float64
  double extended_number() const;  ///< or "nan", "inf" or "-inf", which are no numbers in JSON
  int64_t integer() const;         ///< refuses 1.0 and 1e3, which are no whole numbers as written
  /// Refuses numbers outside [least, most], too.
  int64_t integer(int64_t least, int64_t most = std::numeric_limits<int64_t>::max()) const;
  uint64_t unsigned_integer() const;  ///< refuses negative numbers
  int64_t bits() const;               ///< of an integer of either kind, as two's complement

  // Lists and objects. Throw Error for anything else; `size` is that of either.
  size_t size() const;               ///< how many elements or members
  std::vector<Field> items() const;  ///< of a list, in its order
  /// Of an object, in its order, keys first.
  std::vector<std::pair<std::string_view, Field>> members() const;
  /// Whether an object has such a member.
  bool has(std::string_view key) const { return find(key).has_value(); }
  std::optional<Field> find(std::string_view key) const;  ///< a member; none if the object has no such key
  Field at(std::string_view key) const;                   ///< a member that must be there
  std::vector<std::string> texts() const;                 ///< of a list of nothing but texts
  /// Refuses fields that would be passed over.
  void must_have_only(const std::vector<std::string_view>& known) const;

  /// The value for an error, on one line: 3, 'the beginning of a long te...', a list of 7.
  std::string shown() const;

  /// Throws Error about this field: "[op] file: place ", then the parts.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw Error(concat(beginning(), parts...));
  }

 private:
  friend class Json;
  std::string beginning() const;  // "[op] file: place "
  void must_be(bool is, std::string_view what) const;
  template <class F>
  void for_each_child(F&& f) const;

  const Json* json_;
  size_t node_;
};

/// A parsed text. root() gives access to its values.
class Json {
 public:
  static constexpr size_t kDeepest = 64;  ///< lists and objects within one another

  /// Parses `text`; `op` and `file` are what errors call the reader and the text. Throws Error with line and
  /// column, what should be there and what is.
  Json(std::string_view text, std::string op, std::string file);
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  Field root() const { return {*this, 0}; }  ///< the value that the whole text is
  /// Gives a field a name: errors about it, or about fields inside it, begin with that name from now on.
  void call(const Field& field, std::string name) { names_[field.node_] = std::move(name); }

 private:
  friend class Field;
  friend class JsonParser;

  enum class Kind : uint8_t { null, flag, integer, large, number, text, list, object };
  // The values lie in the order of the text, a member's key before its value.
  struct Node {
    Kind kind = Kind::null;
    uint32_t size = 0;  // of a text in bytes; of a list or an object in elements
    union {
      uint64_t next = 0;  // list, object: the first node behind it
      uint64_t begin;     // text: where it begins in texts_
      int64_t integer;    // integer, flag
      uint64_t large;     // beyond int64_t
      double number;
    };
  };

  size_t next(size_t node) const;
  std::string_view text_of(const Node& node) const;
  std::string place(size_t node) const;

  std::string op_, file_, texts_;
  std::vector<Node> nodes_;
  std::map<size_t, std::string> names_;  // given by call()
};

/// `text` as JSON has it, with quotes. Throws Error if it is not UTF-8.
std::string json_text(std::string_view text);

}  // namespace gradus::files

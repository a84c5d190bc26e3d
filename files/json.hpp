// Strict JSON (RFC 8259), for files from any source.
//
// Json is a parsed text; Field is one of its values. It checks its type when it is read, and knows its place
// for errors. Json refuses equal keys in an object, numbers that a float64 cannot hold, and nesting deeper
// than kDeepest. Nothing recurses; n bytes take at most time n log n and memory of a small multiple of n.
// Thread-safe: immutable once parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus::files {

class Field;

/// A parsed text. root() gives access to its values.
class Json {
 public:
  static constexpr size_t kDeepest = 64;  ///< nested lists and objects

  /// Parses `text`; errors call the reader `op` and the text `file`, in which it begins on that line. Throws
  /// Error with line and column.
  Json(std::string_view text, std::string op, std::string file, int64_t first_line = 1);
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  Field root() const;  ///< the value of the whole text

 private:
  friend class Field;
  friend class JsonParser;

  enum class Kind : uint8_t { null, flag, integer, large, number, text, list, object };
  // In the order of the text, a member's key before its value.
  struct Node {
    Kind kind = Kind::null;
    uint32_t size = 0;  // of a text in bytes; of a list or an object in elements
    union {
      uint64_t next = 0;  // list, object: the first node after it
      uint64_t begin;     // text: its offset in texts_
      int64_t integer;    // integer, flag
      uint64_t large;     // an integer beyond int64_t
      double number;
    };
  };

  size_t next(size_t node) const;
  std::string_view text_of(const Node& node) const;
  std::string place(size_t node) const;

  std::string op_, file_, texts_;
  std::vector<Node> nodes_;
};

/// A value of a Json, which must outlive it. Errors read `[op] file: place must be ..., got ....` with a
/// place such as `inputs[2], shape[0]`.
class Field {
 public:
  /// For Json only; others call Json::root().
  Field(const Json& json, size_t node) : json_(&json), node_(node) {}

  bool is_null() const { return kind() == Kind::null; }      ///< null
  bool is_flag() const { return kind() == Kind::flag; }      ///< true or false
  bool is_text() const { return kind() == Kind::text; }      ///< "..."
  bool is_list() const { return kind() == Kind::list; }      ///< [...]
  bool is_object() const { return kind() == Kind::object; }  ///< {...}
  /// A whole number of 64 bits, with or without sign.
  bool is_integer() const { return kind() == Kind::integer || kind() == Kind::large; }
  bool is_number() const { return is_integer() || kind() == Kind::number; }  ///< any number

  // Single values. Each throws Error for a value of another type.
  bool flag() const;              ///< true or false
  std::string_view text() const;  ///< lives as long as the Json
  double number() const;          ///< rounded to the nearest float64
  int64_t integer() const;        ///< refuses 1.0 and 1e3
  /// Also refuses numbers outside [least, most].
  int64_t integer(int64_t least, int64_t most = std::numeric_limits<int64_t>::max()) const;
  uint64_t unsigned_integer() const;  ///< refuses negative numbers

  // Lists and objects. Throw Error for other values.
  size_t size() const;               ///< the number of elements or members
  std::vector<Field> items() const;  ///< of a list, in its order
  /// Keys and values of an object, in its order.
  std::vector<std::pair<std::string_view, Field>> members() const;
  /// Whether an object has this member.
  bool has(std::string_view key) const { return find(key).has_value(); }
  std::optional<Field> find(std::string_view key) const;   ///< a member, if there
  std::optional<Field> given(std::string_view key) const;  ///< a member, if there and not null
  Field at(std::string_view key) const;                    ///< a member; throws if missing
  std::vector<std::string> texts() const;                  ///< of a list of texts
  /// Throws Error for other members.
  void must_have_only(const std::vector<std::string_view>& known) const;

  /// The value for an error: 3, 'the beginning of a long te...', a list of 7.
  std::string shown() const;

  /// Throws Error: "[op] file: place ", then the parts.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw Error(beginning(), parts...);
  }

 private:
  using Kind = Json::Kind;
  const Json::Node& node() const { return json_->nodes_[node_]; }
  Kind kind() const { return node().kind; }
  std::string beginning() const;  // "[op] file: place "
  void must_be(bool is, std::string_view what) const;

  const Json* json_;
  size_t node_;
};

inline Field Json::root() const { return {*this, 0}; }

/// Members of an object that change no result, each name before a space, and why. "name=false" is a member
/// that changes none with this value alone.
struct Harmless {
  std::string_view names, reason;
};
/// Throws Error for members of an object that are neither known nor harmless, unless they are null, empty or,
/// if that is what a missing one means, false.
void check_members(const Field& object, std::span<const std::string_view> known,
                   std::span<const Harmless> harmless, bool is_false_usual = false);

/// `text` as JSON, with quotes. Throws Error if it is not UTF-8.
std::string json_text(std::string_view text);

/// Throws Error unless the member is null, false, 0, "" or missing, because it is not supported.
void must_be_off(const Field& object, std::string_view key);

}  // namespace gradus::files

// Fields of JSON objects that are members of a struct: one list of them reads and writes. Private to models.
#pragma once

#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "gradus/files/json.hpp"
#include "gradus/models/decoder_config.hpp"

namespace gradus::models {

/// A field that is a member of S.
template <class S>
struct ConfigField {
  const char* key;
  std::variant<int64_t S::*, double S::*, bool S::*> member;
  bool is_required = false;  ///< else a field that is missing or null leaves the member as it is
  int64_t least = std::numeric_limits<int64_t>::min();  ///< of a whole number
};
template <class S>
using ConfigFields = std::vector<ConfigField<S>>;

/// vocab_size and the sizes with these keys (n_head: null leaves it out), then `more`.
ConfigFields<DecoderConfig> size_fields(const char* block_size, const char* n_embd, const char* n_layer,
                                        const char* n_head, const ConfigFields<DecoderConfig>& more);

/// An object of a file. Members that nobody asked for are refused at the end, unless they are harmless.
class ConfigReader {
 public:
  explicit ConfigReader(const files::Field& object) : object_(object) {}

  std::optional<files::Field> find(std::string_view key);   ///< a member, if there
  std::optional<files::Field> given(std::string_view key);  ///< a member, if there and not null
  files::Field at(std::string_view key);                    ///< a member; throws if missing
  /// Throws Error unless the field has one of the accepted values, as errors show them, or is missing.
  void expect(std::string_view key, std::initializer_list<std::string_view> accepted);
  /// Reads members of `to`.
  template <class S>
  void read(const ConfigFields<S>& fields, S& to) {
    for (const auto& [key, member, is_required, least] : fields)
      if (const auto field = is_required ? at(key) : given(key))
        std::visit([&to, &of = *field, at_least = least](auto m) { set(to.*m, of, at_least); }, member);
  }
  /// Throws Error for a member that was not asked for: see files::check_members().
  void finish(std::span<const files::Harmless> harmless = {}) const {
    files::check_members(object_, asked_, harmless);
  }
  const files::Field& object() const { return object_; }

 private:
  static void set(int64_t& to, const files::Field& from, int64_t least);
  static void set(double& to, const files::Field& from, int64_t) { to = from.number(); }
  static void set(bool& to, const files::Field& from, int64_t) { to = from.flag(); }

  files::Field object_;
  std::vector<std::string_view> asked_;
};

/// Adds the members of `from` to a JSON object.
template <class Json, class S>
void write_fields(Json& to, const ConfigFields<S>& fields, const S& from) {
  for (const ConfigField<S>& one : fields)
    std::visit([&](auto member) { to[one.key] = from.*member; }, one.member);
}

}  // namespace gradus::models

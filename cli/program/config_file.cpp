#include "gradus/cli/program/config_file.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iterator>
#include <map>

#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/nearest.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

// toml++ destroys nested tables by recursion, and a.a.a.a = 1 makes a table for each letter.
constexpr size_t kMostBytes = 16'384;

template <class... Parts>
[[noreturn]] void refuse(const std::string& file, const toml::source_position& at, const Parts&... parts) {
  fail("config", file, ":", at.line, ":", at.column, ": ", parts...);
}

/// A value in the form of a flag's. A number of a floating type stays one: 5e3 is 5000.0.
std::string value_text(const toml::node& value, const std::string& key, const std::string& file) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* flag = value.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* whole = value.as_integer()) return std::to_string(whole->get());
  if (const auto* number = value.as_floating_point()) {
    char digits[32];
    const std::string text(digits, std::to_chars(digits, std::end(digits), number->get()).ptr);
    return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
  }
  refuse(file, value.source().begin, files::in_quotes(key),
         " must be a string, a number, true or false, or a list of these, got another value.");
}

/// The options that a config file may set, by their first long names.
std::map<std::string, CLI::Option*> options_of(CLI::App& verb) {
  std::map<std::string, CLI::Option*> options;
  for (CLI::Option* option : verb.get_options())
    if (!option->get_lnames().empty()) options.emplace(option->get_lnames().front(), option);
  for (const char* other : {"help", "help-all", "config"}) options.erase(other);
  return options;
}

}  // namespace

ConfigItem config_item(const toml::key& key, const toml::node& value, const std::string& file) {
  ConfigItem item{std::string(key.str()), {}, key.source().begin};
  if (const toml::array* list = value.as_array()) {
    for (const toml::node& element : *list) item.values.push_back(value_text(element, item.key, file));
  } else {
    item.values.push_back(value_text(value, item.key, file));
  }
  return item;
}

toml::table parse_sections(std::string_view text, const std::string& file) {
  if (text.size() > kMostBytes)
    fail("config", file, ": must be at most ", kMostBytes, " bytes, got ", text.size(), ".");
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    refuse(file, e.source().begin, "must be TOML, got: ", e.description(), ".");
  }
}

std::vector<ConfigItem> parse_toml(std::string_view text, std::string_view section, const std::string& file) {
  std::vector<ConfigItem> items;
  const auto add = [&](const toml::key& key, const toml::node& value) {
    for (const ConfigItem& other : items)
      if (other.key == key.str())
        refuse(file, key.source().begin, "must have each key once, got ", files::in_quotes(key.str()),
               " again.");
    items.push_back(config_item(key, value, file));
  };
  const toml::table table = parse_sections(text, file);
  for (const auto& [key, value] : table)
    if (!value.is_table()) add(key, value);
  for (const auto& [name, value] : table) {
    if (!value.is_table()) continue;
    if (name.str() != section)
      refuse(file, name.source().begin, "must have no section but [", section, "], got ",
             files::in_quotes(name.str()), ".");
    for (const auto& [key, inner] : *value.as_table()) add(key, inner);
  }
  return items;
}

void apply_config(const std::filesystem::path& file, CLI::App& verb) {
  const std::string name = file.string();
  const std::map<std::string, CLI::Option*> options = options_of(verb);
  for (const auto& [key, values, at] : parse_toml(files::read_input(file), verb.get_name(), name)) {
    const auto found = options.find(key);
    if (found == options.end()) {
      std::vector<std::string> keys;
      for (const auto& [known, unused] : options) keys.push_back(known);
      refuse(name, at, "must have flags of `", verb.get_name(), "` as keys, got ", files::in_quotes(key), ".",
             did_you_mean(key, keys, verb.get_name() + " --help-all lists them."));
    }
    CLI::Option* const option = found->second;
    if (option->count() > 0) continue;
    const bool takes_list = option->get_items_expected_max() > 1;
    if (values.empty() || (values.size() > 1 && !takes_list))
      refuse(name, at, key, " must have one value, got ", values.size(), ".");
    try {
      for (const std::string& value : values) option->add_result(value);
      option->run_callback();
    } catch (const CLI::ParseError&) {
      refuse(name, at, key, " must have a value that --", key, " takes, got ",
             files::in_quotes(values.back()), ".");
    } catch (const Error& e) {  // A flag that parses its value reports the error itself.
      refuse(name, at, files::without_op(e.what()));
    }
    if (has_empty_path(*option)) refuse(name, at, key, " must be a path, got none.");
  }
}

}  // namespace gradus::cli

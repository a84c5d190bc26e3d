// Config files, in TOML. Keys are flags without their dashes, in a section named after the verb or in none;
// values are strings, numbers, booleans and lists of them.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace gradus::cli {

struct ConfigItem {
  std::string key;
  std::vector<std::string> values;  ///< one, or any number for a list
  toml::source_position at;         ///< line and column of the key
};

/// Reads TOML with no section except `section`. Throws Error with `file`, line and column for other text, for
/// a key that occurs twice, and for more than 16 KiB.
std::vector<ConfigItem> parse_toml(std::string_view text, std::string_view section, const std::string& file);

/// The value of a key, or each value of a list, as typed after a flag. Throws Error with `file`, line and
/// column for other values.
ConfigItem config_item(const toml::key& key, const toml::node& value, const std::string& file);

/// Reads TOML with any sections. Throws Error as parse_toml().
toml::table parse_sections(std::string_view text, const std::string& file);

/// Sets the verb's options to the values of the file, except those that the command line gave. Throws Error
/// as parse_toml(), and for a key that is not an option or a value that the option does not take.
void apply_config(const std::filesystem::path& file, CLI::App& verb);

}  // namespace gradus::cli

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
  std::vector<std::string> values;  ///< more or less than one for a list
  toml::source_position at;         ///< line and column of the key
};

/// Reads `text`. `section` is the only one it may have. Throws Error, naming `file`, line and column, for
/// anything that is no such TOML or more than 16 KiB of it, and for a key that comes twice.
std::vector<ConfigItem> parse_toml(std::string_view text, std::string_view section, const std::string& file);

/// What a key has: a value, or each of a list of values, as a flag would be given them. Throws Error, naming
/// `file`, line and column, for other values.
ConfigItem config_item(const toml::key& key, const toml::node& value, const std::string& file);

/// A table, by sections. Throws Error as parse_toml() does.
toml::table parse_sections(std::string_view text, const std::string& file);

/// Gives the verb's options the file's values, but for those that the command line gave. Throws Error as
/// above, and for a key that is no option or a value that it does not take.
void apply_config(const std::filesystem::path& file, CLI::App& verb);

}  // namespace gradus::cli

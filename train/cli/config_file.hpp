// Config files: the subset of TOML that flags need. Keys are flags without their dashes, in a section named
// after the verb or in none; values are strings, numbers, booleans and arrays of strings.
#pragma once

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
  std::vector<std::string> values;  ///< more or less than one for an array; numbers as they were written
  int line;
};

/// Reads `text`. `section` is the only one it may have. Throws Error, naming `file` and the line, for
/// anything that is no such TOML and for a key or section that comes twice.
std::vector<ConfigItem> parse_toml(std::string_view text, std::string_view section, const std::string& file);

/// Gives the verb's options the file's values, but for those that the command line gave. Throws Error as
/// above, and for a key that is no option or a value that it does not take.
void apply_config(const std::filesystem::path& file, CLI::App& verb);

}  // namespace gradus::cli

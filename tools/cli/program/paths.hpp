// Options that take paths, told by the unit that their help shows: FILE, DIR, FROM, PATH.
#pragma once

#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gradus::cli {

/// Whether a value of this unit may be a file.
bool takes_files(std::string_view unit);
/// Whether it may be a folder. FROM and PATH may be either.
bool takes_folders(std::string_view unit);

/// Whether an option was given an empty path: most likely a variable that was not set.
bool has_empty_path(const CLI::Option& option);
/// Throws Error if an option of `verb`, or of a verb within, was.
void check_paths(const CLI::App& verb);

}  // namespace gradus::cli

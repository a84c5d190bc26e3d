// Error messages for a command line that CLI11 cannot parse.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace gradus::cli {

/// The arguments after the program's name, with `help`, `help VERB` and `VERB help` replaced by --help. VERB
/// help is kept if a file named help exists.
std::vector<std::string> with_help_as_flag(const CLI::App& app, std::vector<std::string> arguments);

/// With an old name of a verb replaced by the words that mean the same today, which a note on the standard
/// error tells.
std::vector<std::string> with_new_names(std::vector<std::string> arguments);

/// Throws Error, with the nearest verb as a hint, unless the first argument is a verb or the program's flag.
void check_verb_comes_first(const CLI::App& app, const std::vector<std::string>& arguments,
                            const std::string& program);

/// One line about arguments that begin with a verb and that CLI11 refused: the expected and the given ones,
/// and which help to read.
std::string explain(const CLI::ParseError& error, CLI::App& app, const std::vector<std::string>& arguments,
                    const std::string& program);

}  // namespace gradus::cli

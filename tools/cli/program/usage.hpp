// Usage: what the command line says when it cannot be understood, in the words of the person who typed it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace gradus::cli {

/// The arguments after the program's name, with `help`, `help VERB` and `VERB help` as the flags they stand
/// for. VERB help stays where a file of that name is there.
std::vector<std::string> with_help_as_flag(const CLI::App& app, std::vector<std::string> arguments);

/// Throws Error, with the nearest verb as a hint, unless the first argument is a verb or a flag of the
/// program's own.
void check_verb_comes_first(const CLI::App& app, const std::vector<std::string>& arguments,
                            const std::string& program);

/// One line for arguments that begin with a verb and that CLI11 refused: what was expected, what came, and
/// the help to read.
std::string explain(const CLI::ParseError& error, CLI::App& app, const std::vector<std::string>& arguments,
                    const std::string& program);

}  // namespace gradus::cli

// The script with which shells complete command lines of the program. The build writes it into a file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gradus::cli {

/// A script for bash 4 and later, and for zsh by its bashcompinit: it completes verbs, flags and the words
/// that flags take, and leaves files to the shell.
std::string completion_script(CLI::App& app);

}  // namespace gradus::cli

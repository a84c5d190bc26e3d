// Scripts by which shells complete command lines of the program.
#pragma once

#include <string>

#include "gradus/tools/cli/program/syntax.hpp"

namespace gradus::cli {

/// For bash 4 and later.
std::string bash_completion(const Syntax& program);
/// For zsh, as a file _gradus on its fpath.
std::string zsh_completion(const Syntax& program);

}  // namespace gradus::cli

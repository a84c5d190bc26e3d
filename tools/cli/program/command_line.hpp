// The command line of the program: its help, its version and the verbs.
#pragma once

#include <string>
#include <vector>

#include "gradus/tools/cli/program/verbs.hpp"

namespace gradus::cli {

/// Makes `app` that command line. `program` is how the user calls it.
std::vector<Verb> set_up(CLI::App& app, const std::string& program);

/// Whole commands to begin with, a line each.
std::string program_examples(const std::string& program);

/// What the program's exit codes mean.
std::string exit_codes();

}  // namespace gradus::cli

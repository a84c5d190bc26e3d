// The command line as data: what the shells' completions and the manual page are made of. Plain values.
#pragma once

#include <string>
#include <vector>

#include "gradus/tools/cli/program/verbs.hpp"

namespace gradus::cli {

/// A flag, or an argument without one.
struct Flag {
  std::vector<std::string> names;       ///< as they are typed, --bias and --no-bias; of an argument its name
  std::string help;                     ///< one line
  std::string unit;                     ///< N, FILE, DIR ...; empty for a switch
  std::string value;                    ///< by default; may be empty
  std::vector<std::string> choices;     ///< where they can be listed
  bool required = false, many = false;  ///< many: takes values up to the next flag

  bool takes_value() const { return !unit.empty(); }
};

/// The program, or a verb.
struct Syntax {
  std::string name;  ///< as it is typed: tokenizer train; empty for the program
  std::string help;  ///< one line
  std::string footer;
  std::vector<Flag> flags, arguments;
  std::vector<Syntax> verbs;
};

/// Of `app` with its verbs.
Syntax syntax_of(CLI::App& app);

/// Each verb that is run, those of verbs too, the first first.
std::vector<const Syntax*> leaves(const Syntax& syntax);

/// The names of all flags.
std::vector<std::string> flag_names(const Syntax& syntax);
/// The names of the verbs.
std::vector<std::string> verb_names(const Syntax& syntax);

}  // namespace gradus::cli

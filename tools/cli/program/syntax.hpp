// The command line as data, for completion and the manual page. Plain values.
#pragma once

#include <string>
#include <vector>

#include "gradus/tools/cli/program/verbs.hpp"

namespace gradus::cli {

/// A flag, or an argument without one.
struct Flag {
  std::vector<std::string> names;       ///< as typed: --bias, --no-bias; or the name of an argument
  std::string help;                     ///< one line
  std::string unit;                     ///< N, FILE, DIR ...; empty for a switch
  std::string value;                    ///< the default; may be empty
  std::vector<std::string> choices;     ///< the words that it takes, if they are known
  bool required = false, many = false;  ///< many: takes values up to the next flag

  bool takes_value() const { return !unit.empty(); }
};

/// The program, or a verb.
struct Syntax {
  std::string name;  ///< as typed: tokenizer train; empty for the program
  std::string help;  ///< one line
  std::string footer;
  std::vector<Flag> flags, arguments;
  std::vector<Syntax> verbs;
};

/// The syntax of `app` and its verbs.
Syntax syntax_of(CLI::App& app);

/// The verbs without subcommands, in order.
std::vector<const Syntax*> leaves(const Syntax& syntax);

/// The names of all flags.
std::vector<std::string> flag_names(const Syntax& syntax);
/// The names of the verbs.
std::vector<std::string> verb_names(const Syntax& syntax);

}  // namespace gradus::cli

// Helpers for the functions add_NAME, which describe the flags of a verb.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>

#include "gradus/tools/cli/program/choices.hpp"
#include "gradus/tools/cli/program/whole_number.hpp"

namespace gradus::cli {

/// Adds a flag with a value, which the help calls `unit`. Of several values the last one counts, unless
/// `value` is a list. An int64_t must be a whole number of at most `most`.
template <class T>
CLI::Option* add_value(CLI::App& verb, const std::string& name, T& value, const char* unit,
                       const std::string& help, int64_t most = kMostCount) {
  CLI::Option* const option = verb.add_option(name, value, help)->type_name(unit);
  if constexpr (std::is_same_v<T, int64_t>) whole_number(verb, option, most);
  if constexpr (!CLI::detail::is_mutable_container<T>::value) option->take_last();
  return option;
}

/// Adds an argument without a flag, which must be given.
template <class T>
CLI::Option* add_argument(CLI::App& verb, const char* name, T& value, const char* unit,
                          const std::string& help) {
  return verb.add_option(name, value, help)->type_name(unit)->required();
}

/// `text` with the program as the user calls it in place of each $.
inline std::string with_program(std::string text, const std::string& program) {
  for (size_t at = 0; (at = text.find('$', at)) != text.npos; at += program.size())
    text.replace(at, 1, program);
  return text;
}

}  // namespace gradus::cli

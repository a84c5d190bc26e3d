// Helpers for the functions add_NAME, which add the flags of a verb: whole numbers, choices, paths.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace gradus::cli {

/// The words that a flag may take.
using Words = std::function<std::vector<std::string>()>;

/// Tells shells what may be typed after the option; the verb checks the value. Returns the option.
CLI::Option* suggest(CLI::Option* option, Words words);
/// The words of suggest(), or none.
std::vector<std::string> suggested(const CLI::Option& option);

/// Makes the option take these words only, and suggests them. Throws Error as check_choice() for others.
CLI::Option* one_of(const CLI::App& verb, CLI::Option* option, const Words& words);

/// Says which flags, which must be there, the help of a verb shows besides --help; --help-all shows all.
void set_usual_flags(CLI::App& verb, const std::vector<std::string>& flags);
/// The flags that set_usual_flags() named for this verb; empty if it was not called.
std::set<const CLI::Option*> usual_flags(const CLI::App& verb);

/// The names of a flag as they are typed: -h, --bias, --no-bias. None of an argument, or of a hidden flag.
std::vector<std::string> names_of(const CLI::Option& option);

/// Largest count of a flag: sums and products of a few counts fit into 64 bits.
inline constexpr int64_t kMostCount = 1'000'000'000'000'000;
inline constexpr int64_t kMostThreads = 4096;

/// The values of a flag. Without a lower bound, the verb checks it.
struct Bounds {
  int64_t least = std::numeric_limits<int64_t>::min(), most = kMostCount;
};
inline constexpr Bounds kFrom0{.least = 0}, kFrom1{.least = 1}, kThreads{1, kMostThreads};

/// Makes the option take decimal digits only, with an optional sign, within bounds. (CLI11 reads 010 as 8.)
/// Throws Error with verb, flag and value for other text.
CLI::Option* whole_number(const CLI::App& verb, CLI::Option* option, Bounds bounds = {});

/// Makes the option take numbers only. Throws Error with verb, flag and value for other text.
CLI::Option* number(const CLI::App& verb, CLI::Option* option);

/// Whether T is V, or several or optional V.
template <class T, class V>
inline constexpr bool kIsOf =
    std::is_same_v<T, V> || std::is_same_v<T, std::vector<V>> || std::is_same_v<T, std::optional<V>>;

/// Adds a flag with a value, which the help calls `unit`. The last of several values counts, unless
/// `value` is a list. An int64_t must be a whole number within bounds, a double a number. The help shows
/// a default within bounds, unless it ends with ] itself.
template <class T>
CLI::Option* add_value(CLI::App& verb, const std::string& name, T& value, const char* unit,
                       const std::string& help, Bounds bounds = {}) {
  CLI::Option* const option = verb.add_option(name, value, help)->type_name(unit);
  if constexpr (kIsOf<T, int64_t>) whole_number(verb, option, bounds);
  if constexpr (kIsOf<T, double>) number(verb, option);
  bool has_default = !help.ends_with(']');
  if constexpr (std::is_same_v<T, int64_t>) has_default = has_default && value >= bounds.least;
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
    if (has_default) option->capture_default_str();
  if constexpr (!CLI::detail::is_mutable_container<T>::value) option->take_last();
  return option;
}

/// Adds a required positional argument.
template <class T>
CLI::Option* add_argument(CLI::App& verb, const char* name, T& value, const char* unit,
                          const std::string& help) {
  return verb.add_option(name, value, help)->type_name(unit)->required();
}

/// `text` with each $ replaced by the name by which the user calls the program.
inline std::string with_program(std::string text, const std::string& program) {
  for (size_t at = 0; (at = text.find('$', at)) != text.npos; at += program.size())
    text.replace(at, 1, program);
  return text;
}

/// Whether the option has an empty path, probably from a shell variable that is not set.
bool has_empty_path(const CLI::Option& option);
/// Throws Error if an option of `verb` or of its subcommands has an empty path.
void check_paths(const CLI::App& verb);

}  // namespace gradus::cli

#include "gradus/cli/program/flags.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "gradus/cli/program/nearest.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

// CLI11 has no place for them.
std::map<const CLI::Option*, Words>& suggestions() {
  static std::map<const CLI::Option*, Words> all;
  return all;
}
std::map<const CLI::App*, std::set<const CLI::Option*>>& usual() {
  static std::map<const CLI::App*, std::set<const CLI::Option*>> all;
  return all;
}

/// `text` as a number of decimal digits; throws Error "[verb] flag must be ..., got ...".
int64_t parsed(const std::string& verb, const std::string& flag, const std::string& text, Bounds bounds) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = error != std::errc::invalid_argument && end == digits.data() + digits.size();
  if (!is_number)
    fail(verb, flag, " must be a whole number, got ", files::in_quotes(text),
         ". Hint: write it in digits, as 5000.");
  if (digits.starts_with('-') && error != std::errc())
    fail(verb, flag, " must be a whole number of at least 0, got ", files::in_quotes(text), ".");
  if (error != std::errc() || value > bounds.most)
    fail(verb, flag, " must be a whole number of at most ", bounds.most, ", got ", files::in_quotes(text),
         ".");
  if (value < bounds.least)
    fail(verb, flag, " must be a whole number of at least ", bounds.least, ", got ", value, ".");
  return value;
}

}  // namespace

CLI::Option* suggest(CLI::Option* option, Words words) {
  suggestions()[option] = std::move(words);
  return option;
}

std::vector<std::string> suggested(const CLI::Option& option) {
  const auto words = suggestions().find(&option);
  return words == suggestions().end() ? std::vector<std::string>() : words->second();
}

CLI::Option* one_of(const CLI::App& verb, CLI::Option* option, const Words& words) {
  const auto check = [verb = verb.get_name(), flag = option->get_name(), words](const std::string& text) {
    check_choice(verb, flag, text, words());
    return std::string();
  };
  return suggest(option->check(check), words);
}

void set_usual_flags(CLI::App& verb, const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) usual()[&verb].insert(verb.get_option(flag));
}

std::set<const CLI::Option*> usual_flags(const CLI::App& verb) {
  const auto flags = usual().find(&verb);
  return flags == usual().end() ? std::set<const CLI::Option*>() : flags->second;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  if (option.get_positional() || option.get_group().empty()) return names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const auto* group : {&option.get_lnames(), &option.get_fnames()})
    for (const std::string& name : *group)
      if (std::ranges::find(names, "--" + name) == names.end()) names.push_back("--" + name);
  return names;
}

CLI::Option* whole_number(const CLI::App& verb, CLI::Option* option, Bounds bounds) {
  const CLI::Validator read(
      [verb = verb.get_name(), flag = option->get_name(), bounds](std::string& text) {
        text = std::to_string(parsed(verb, flag, text, bounds));
        return std::string();
      },
      "");
  return option->transform(read);
}

CLI::Option* number(const CLI::App& verb, CLI::Option* option) {
  return option->check([verb = verb.get_name(), flag = option->get_name()](const std::string& text) {
    const char *begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0),
               *const end = text.data() + text.size();
    double value = 0;
    if (const auto [rest, error] = std::from_chars(begin, end, value); rest != end || error != std::errc())
      fail(verb, flag, " must be a number, got ", files::in_quotes(text), ".");
    return std::string();
  });
}

bool has_empty_path(const CLI::Option& option) {
  constexpr const char* kUnits[] = {"FILE", "DIR", "FROM", "PATH"};
  const std::string unit = option.get_type_name();
  if (std::ranges::none_of(kUnits, [&](const char* of_paths) { return unit.find(of_paths) != unit.npos; }))
    return false;
  const std::vector<std::string>& values = option.results();
  return std::ranges::find(values, "") != values.end();
}

void check_paths(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options())
    if (has_empty_path(*option)) fail(verb.get_name(), option->get_name(), " must be a path, got none.");
  for (const CLI::App* inner : verb.get_subcommands()) check_paths(*inner);
}

}  // namespace gradus::cli

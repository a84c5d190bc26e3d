#include "gradus/tools/cli/program/flags.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

// CLI11 has no place for it. An inactive validator changes neither the help nor the accepted values.
constexpr const char* kChoices = "choices";

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

bool has(std::string_view unit, std::string_view word) { return unit.find(word) != unit.npos; }

}  // namespace

CLI::Option* choices(CLI::Option* option, Choices words) {
  const auto list = [words = std::move(words)](std::string& text) {
    for (const std::string& word : words()) text += word + " ";
    return std::string();
  };
  return option->check(CLI::Validator(list, "", kChoices).active(false));
}

std::vector<std::string> choices_of(CLI::Option& option) {
  std::string list;
  try {
    CLI::Validator told = *option.get_validator(kChoices);
    (void)told.active(true).non_modifying(false)(list);
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
  std::istringstream words(list);
  return {std::istream_iterator<std::string>(words), {}};
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

bool takes_files(std::string_view unit) {
  return has(unit, "FILE") || has(unit, "FROM") || has(unit, "PATH");
}

bool takes_folders(std::string_view unit) {
  return has(unit, "DIR") || has(unit, "FROM") || has(unit, "PATH");
}

bool has_empty_path(const CLI::Option& option) {
  const std::string unit = option.get_type_name();
  if (!takes_files(unit) && !takes_folders(unit)) return false;
  const std::vector<std::string>& values = option.results();
  return std::find(values.begin(), values.end(), "") != values.end();
}

void check_paths(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options())
    if (has_empty_path(*option)) fail(verb.get_name(), option->get_name(), " must be a path, got none.");
  for (const CLI::App* inner : verb.get_subcommands()) check_paths(*inner);
}

}  // namespace gradus::cli

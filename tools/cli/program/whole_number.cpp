#include "gradus/tools/cli/program/whole_number.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <string_view>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

/// `text` as a number of decimal digits; throws Error "[verb] flag must be ..., got ...".
int64_t parsed(const std::string& verb, const std::string& flag, const std::string& text, int64_t most) {
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
  if (error != std::errc() || value > most)
    fail(verb, flag, " must be a whole number of at most ", most, ", got ", files::in_quotes(text), ".");
  return value;
}

}  // namespace

CLI::Option* whole_number(const CLI::App& verb, CLI::Option* option, int64_t most) {
  const CLI::Validator read(
      [verb = verb.get_name(), flag = option->get_name(), most](std::string& text) {
        text = std::to_string(parsed(verb, flag, text, most));
        return std::string();
      },
      "");
  return option->transform(read);
}

}  // namespace gradus::cli

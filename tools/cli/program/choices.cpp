#include "gradus/tools/cli/program/choices.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

namespace gradus::cli {
namespace {

// CLI11 has no place for it. A validator that is never active changes neither the help nor what is accepted.
constexpr const char* kName = "choices";

}  // namespace

CLI::Option* choices(CLI::Option* option, Choices words) {
  const auto list = [words = std::move(words)](std::string& text) {
    for (const std::string& word : words()) text += word + " ";
    return std::string();
  };
  return option->check(CLI::Validator(list, "", kName).active(false));
}

std::vector<std::string> choices_of(CLI::Option& option) {
  std::string list;
  try {
    CLI::Validator told = *option.get_validator(kName);
    (void)told.active(true).non_modifying(false)(list);
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
  std::istringstream words(list);
  return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace gradus::cli

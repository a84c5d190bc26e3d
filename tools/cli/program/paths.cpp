#include "gradus/tools/cli/program/paths.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

bool has(std::string_view unit, std::string_view word) { return unit.find(word) != unit.npos; }

}  // namespace

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

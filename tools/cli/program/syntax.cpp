#include "gradus/tools/cli/program/syntax.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "gradus/tools/cli/program/flags.hpp"

namespace gradus::cli {
namespace {

std::vector<std::string> names_of(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name()};
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const auto* group : {&option.get_lnames(), &option.get_fnames()})
    for (const std::string& name : *group)
      if (std::find(names.begin(), names.end(), "--" + name) == names.end()) names.push_back("--" + name);
  return names;
}

Flag flag_of(CLI::Option& option) {
  Flag flag{.names = names_of(option),
            .help = option.get_description(),
            .unit = "",
            .value = option.get_default_str(),
            .choices = choices_of(option),
            .required = option.get_required(),
            .many = option.get_items_expected_max() > 1 && option.get_allow_extra_args()};
  std::replace(flag.help.begin(), flag.help.end(), '\n', ' ');
  if (option.get_items_expected_max() > 0) flag.unit = option.get_type_name();
  if (!flag.takes_value()) flag.value.clear();
  return flag;
}

}  // namespace

Syntax syntax_of(CLI::App& app) {
  Syntax syntax{.name = app.get_parent() ? app.get_name() : "",
                .help = app.get_description(),
                .footer = app.get_footer(),
                .flags = {},
                .arguments = {},
                .verbs = {}};
  if (app.get_parent() && app.get_parent()->get_parent())
    syntax.name = app.get_parent()->get_name() + " " + syntax.name;
  for (CLI::Option* option : app.get_options())
    if (!option->get_group().empty())
      (option->get_positional() ? syntax.arguments : syntax.flags).push_back(flag_of(*option));
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    syntax.verbs.push_back(syntax_of(*verb));
  return syntax;
}

std::vector<const Syntax*> leaves(const Syntax& syntax) {
  std::vector<const Syntax*> found;
  for (const Syntax& verb : syntax.verbs) {
    if (verb.verbs.empty()) found.push_back(&verb);
    for (const Syntax* leaf : leaves(verb)) found.push_back(leaf);
  }
  return found;
}

std::vector<std::string> flag_names(const Syntax& syntax) {
  std::vector<std::string> names;
  for (const Flag& flag : syntax.flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
  return names;
}

std::vector<std::string> verb_names(const Syntax& syntax) {
  std::vector<std::string> names;
  for (const Syntax& verb : syntax.verbs) names.push_back(verb.name.substr(verb.name.rfind(' ') + 1));
  return names;
}

}  // namespace gradus::cli

#include "gradus/cli/program/usage.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/nearest.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

using Arguments = std::vector<std::string>;

struct OldVerb {
  const char *words, *now;  ///< what runs in its place, if anything; what to do instead
};
const std::map<std::string, OldVerb> kOldVerbs = {
#define GRADUS_OLD_VERB(name, words, now) {#name, {words, now}},
#include "gradus/cli/program/old_verbs.def"
#undef GRADUS_OLD_VERB
};

bool contains(const Arguments& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

Arguments verbs_of(const CLI::App& app) {
  Arguments names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

Arguments flags_of(const CLI::App& verb) {
  Arguments all;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : names_of(*option))
      if (name.starts_with("--")) all.push_back(name);
  return all;
}

bool is_flag(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

std::string flag_part(const std::string& argument) { return argument.substr(0, argument.find('=')); }

/// About an argument that no option took. `help` ends the hint.
std::string about_extra(const CLI::App& verb, const std::string& extra, const std::string& help) {
  if (is_flag(extra)) {
    const std::string flag = flag_part(extra);
    return concat("flags must be ones that ", verb.get_name(), " has, got ", files::plain(flag), ".",
                  did_you_mean(flag, flags_of(verb), help));
  }
  const std::string got = files::in_quotes(extra);
  if (const Arguments verbs = verbs_of(verb); !verbs.empty())
    return concat("there must be ", listed(verbs), ", got ", got, ".", did_you_mean(extra, verbs, help));
  const bool is_text = verb.get_option_no_throw("--text") && std::filesystem::exists(extra);
  return concat("there must be no such argument, got ", got,
                ". Hint: ", is_text ? concat("--text ", shell_path(extra), " reads that file. ") : "", help);
}

/// Says which argument is wrong, and why; in the words of CLI11 for an option without its value. `help` ends
/// the hint.
std::string complaint_about(const CLI::App& verb, const CLI::ParseError& error, const std::string& help) {
  if (const Arguments extras = verb.remaining(); !extras.empty()) {
    const auto flag = std::ranges::find_if(extras, is_flag);
    return about_extra(verb, flag == extras.end() ? extras.front() : *flag, help);
  }
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = option->get_positional() ? "a" : option->get_name();
    if (option->get_required() && option->count() == 0)
      return concat("there must be ", name, " ", option->get_type_name(), ", got none. Hint: ", help);
  }
  return concat(error.what(), ". Hint: ", help);
}

}  // namespace

Arguments with_help_as_flag(const CLI::App& app, Arguments arguments) {
  if (arguments.empty()) return arguments;
  if (arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  } else if (arguments.size() == 2 && arguments[1] == "help" && contains(verbs_of(app), arguments[0]) &&
             !std::filesystem::exists("help")) {
    arguments[1] = "--help";
  }
  return arguments;
}

Arguments with_new_names(Arguments arguments) {
  const auto old = arguments.empty() ? kOldVerbs.end() : kOldVerbs.find(arguments[0]);
  if (old == kOldVerbs.end() || !*old->second.words) return arguments;
  std::cerr << concat("note: ", old->first, " is now ", old->second.words, "\n");
  std::istringstream words(old->second.words);
  arguments.erase(arguments.begin());
  arguments.insert(arguments.begin(), std::istream_iterator<std::string>(words), {});
  return arguments;
}

void check_verb_comes_first(const CLI::App& app, const Arguments& arguments, const std::string& program) {
  const Arguments verbs = verbs_of(app);
  if (arguments.empty())
    throw Error("there must be a verb, one of ", listed(verbs), ", got none. Hint: ", program,
                " --help describes them.");
  const std::string& first = arguments[0];
  if (contains(verbs, first) || app.get_option_no_throw(flag_part(first))) return;
  if (const auto now = kOldVerbs.find(first); now != kOldVerbs.end())
    throw Error("there must be a verb first, got ", first,
                ", which is none any more. Hint: ", with_program(now->second.now, program));
  if (const std::string where = missing_from(first); !where.empty())
    throw Error("there must be a verb of this program first, got ", first, ", which it was built without",
                where == "full" ? "." : concat(". Hint: build with the annex ", where, "."));
  const std::string near = is_flag(first) ? "" : nearest(first, verbs);
  throw Error("there must be a verb first, got ", files::in_quotes(first),
              ". Hint: ", near.empty() ? "" : concat("did you mean ", program, " ", near, "? "), program,
              " --help lists the verbs.");
}

std::string explain(const CLI::ParseError& error, CLI::App& app, const Arguments& arguments,
                    const std::string& program) {
  const CLI::App* verb = &app;
  std::string name;
  for (size_t i = 0; i < arguments.size() && contains(verbs_of(*verb), arguments[i]); ++i) {
    verb = verb->get_subcommand(arguments[i]);
    name += (name.empty() ? "" : " ") + arguments[i];
  }
  const std::string help = concat(program, " ", name, " --help-all lists the flags.");
  return concat("[", name, "] ", complaint_about(*verb, error, help));
}

}  // namespace gradus::cli

#include "gradus/tools/cli/program/usage.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/program/shell.hpp"

namespace gradus::cli {
namespace {

using Arguments = std::vector<std::string>;

/// What to do instead.
const std::map<std::string, std::string> kOldVerbs = {
#define GRADUS_OLD_VERB(name, now) {#name, now},
#include "gradus/tools/cli/program/old_verbs.def"
#undef GRADUS_OLD_VERB
};

bool contains(const Arguments& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Arguments verbs_of(const CLI::App& app) {
  Arguments names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

/// Flags as they are typed: --bias and --no-bias, without those for processes only.
Arguments flags_of(const CLI::App& verb) {
  Arguments names;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    for (const auto* group : {&option->get_lnames(), &option->get_fnames()})
      for (const std::string& name : *group)
        if (const std::string flag = "--" + name; !contains(names, flag)) names.push_back(flag);
  }
  return names;
}

bool is_flag(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

std::string flag_part(const std::string& argument) { return argument.substr(0, argument.find('=')); }

/// The option of that flag, or null.
const CLI::Option* option_of(const CLI::App& verb, const std::string& flag) {
  return is_flag(flag) ? verb.get_option_no_throw(flag) : nullptr;
}

/// The first argument that no option took, a flag before all others; empty if there is none.
std::string first_extra(const CLI::App& verb, const Arguments& arguments) {
  const Arguments extras = verb.remaining();
  std::string found;
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (!contains(extras, arguments[i])) continue;
    if (is_flag(arguments[i])) return arguments[i];
    if (found.empty()) found = arguments[i];
  }
  return found;
}

std::string too_much(const CLI::App& verb, const std::string& extra) {
  if (const Arguments verbs = verbs_of(verb); !verbs.empty())
    return concat("there must be ", listed(verbs), ", got ", files::in_quotes(extra), ".");
  for (const CLI::Option* option : verb.get_options())
    if (option->get_positional())
      return concat("there must be one ", option->get_type_name(), ", got ", files::in_quotes(extra),
                    " as well.");
  return concat("arguments must be flags and their values, got ", files::in_quotes(extra), ".");
}

/// The verb that the arguments begin with, or its subcommand that they name next; and how both are typed.
std::pair<const CLI::App*, std::string> meant_verb(const CLI::App& app, const Arguments& arguments) {
  const CLI::App* verb = app.get_subcommand(arguments.at(0));
  std::string name = verb->get_name();
  if (arguments.size() > 1 && contains(verbs_of(*verb), arguments[1])) {
    verb = verb->get_subcommand(arguments[1]);
    name += " " + verb->get_name();
  }
  return {verb, name};
}

struct Complaint {
  std::string what, hint;  ///< sentences; the hint may be empty
};

Complaint about_flag(const CLI::App& verb, const std::string& flag) {
  const std::string near = nearest(flag, flags_of(verb));
  return {concat("flags must be ones that ", verb.get_name(), " has, got ", files::plain(flag), "."),
          near.empty() ? "" : concat("did you mean ", near, "?")};
}

/// "--bias false": a value after a switch, which takes none.
Complaint about_switch(const CLI::Option& option, const std::string& flag, const std::string& extra) {
  const Arguments& off = option.get_fnames();
  return {concat(flag, " must stand alone, got ", files::in_quotes(extra), " after it."),
          off.empty() ? "" : concat("--", off.front(), " switches it off.")};
}

Complaint about_extra(const CLI::App& verb, const std::string& extra, const Arguments& arguments) {
  if (is_flag(extra)) return about_flag(verb, flag_part(extra));
  const std::string& before = *(std::find(arguments.begin() + 1, arguments.end(), extra) - 1);
  const CLI::Option* option = option_of(verb, before);
  if (option && option->get_items_expected_max() == 0) return about_switch(*option, before, extra);
  if (const std::string near = nearest(extra, verbs_of(verb)); !near.empty())
    return {too_much(verb, extra), concat("did you mean ", near, "?")};
  const bool is_text = verb.get_option_no_throw("--text") && std::filesystem::exists(extra);
  return {too_much(verb, extra), is_text ? concat("--text ", shell_path(extra), " reads that file.") : ""};
}

/// "--text FILE" or "a DIR", for the first required one that is missing; empty if there is none.
std::string first_missing(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options())
    if (option->get_required() && option->count() == 0)
      return option->get_positional() ? concat("a ", option->get_type_name())
                                      : concat(option->get_name(), " ", option->get_type_name());
  return "";
}

/// CLI11 begins with the flag: "--steps: 1 required N missing".
const CLI::Option* option_without_value(const CLI::ParseError& error, const CLI::App& verb) {
  if (error.get_name() != "ArgumentMismatch") return nullptr;
  const std::string what = error.what();
  const CLI::Option* option = option_of(verb, what.substr(0, what.find(':')));
  return option && option->get_items_expected_max() > 0 ? option : nullptr;
}

/// CLI11 ends with flag and value: "Could not convert: --lr = fast".
const CLI::Option* option_with_bad_value(const CLI::ParseError& error, const CLI::App& verb) {
  if (error.get_name() != "ConversionError") return nullptr;
  const std::string what = error.what();
  for (const CLI::Option* option : verb.get_options())
    if (option->count() > 0 && what.find(" " + option->get_name() + " = ") != std::string::npos)
      return option;
  return nullptr;
}

std::string about_value(const CLI::Option& option) {
  const bool is_switch = option.get_items_expected_max() == 0;
  return concat(option.get_name(), " must be ", is_switch ? "true or false" : "a number", ", got ",
                files::in_quotes(option.results().back()), ".");
}

}  // namespace

Arguments with_help_as_flag(const CLI::App& app, Arguments arguments) {
  const Arguments verbs = verbs_of(app);
  if (arguments.empty()) return arguments;
  if (arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  } else if (arguments.size() == 2 && arguments[1] == "help" && contains(verbs, arguments[0]) &&
             !std::filesystem::exists("help")) {
    arguments[1] = "--help";
  }
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
                ", which is none any more. Hint: ", with_program(now->second, program));
  const std::string near = is_flag(first) ? "" : nearest(first, verbs);
  throw Error("there must be a verb first, got ", files::in_quotes(first),
              ". Hint: ", near.empty() ? "" : concat("did you mean ", program, " ", near, "? "), program,
              " --help lists the verbs.");
}

std::string explain(const CLI::ParseError& error, CLI::App& app, const Arguments& arguments,
                    const std::string& program) {
  const auto [verb, name] = meant_verb(app, arguments);
  Complaint complaint{error.what(), ""};
  if (!complaint.what.ends_with('.')) complaint.what += '.';
  if (const std::string extra = first_extra(*verb, arguments); !extra.empty())
    complaint = about_extra(*verb, extra, arguments);
  else if (const std::string missing = first_missing(*verb); !missing.empty())
    complaint.what = concat("there must be ", missing, ", got none.");
  else if (const CLI::Option* option = option_without_value(error, *verb))
    complaint.what =
        concat(option->get_name(), " must have a value after it, ", option->get_type_name(), ", got none.");
  else if (const CLI::Option* bad = option_with_bad_value(error, *verb))
    complaint.what = about_value(*bad);
  return concat("[", name, "] ", complaint.what, " Hint: ", complaint.hint, complaint.hint.empty() ? "" : " ",
                program, " ", name, " --help lists the flags.");
}

}  // namespace gradus::cli

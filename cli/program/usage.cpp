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
  return std::find(words.begin(), words.end(), word) != words.end();
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

/// The option of that flag, or null.
const CLI::Option* option_of(const CLI::App& verb, const std::string& flag) {
  return is_flag(flag) ? verb.get_option_no_throw(flag) : nullptr;
}

bool is_true_or_false(const std::string& text) {
  try {
    (void)CLI::detail::to_flag_value(text);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

struct Complaint {
  std::string what, hint = "";  ///< sentences; the hint may be empty
};

Complaint with_nearest(std::string what, const std::string& typed, const Arguments& known) {
  const std::string near = nearest(typed, known);
  return {std::move(what), near.empty() ? "" : concat("did you mean ", near, "?")};
}

/// About an argument that no option took, after the argument `before`.
Complaint about_extra(const CLI::App& verb, const std::string& extra, const std::string& before) {
  const std::string got = files::in_quotes(extra);
  if (is_flag(extra)) {
    const std::string flag = flag_part(extra);
    return with_nearest(
        concat("flags must be ones that ", verb.get_name(), " has, got ", files::plain(flag), "."), flag,
        flags_of(verb));
  }
  if (const CLI::Option* option = option_of(verb, before); option && option->get_items_expected_max() == 0) {
    const Arguments& off = option->get_fnames();  // "--bias false"
    return {concat(before, " must stand alone, got ", got, " after it."),
            off.empty() ? "" : concat("--", off.front(), " switches it off.")};
  }
  if (const Arguments verbs = verbs_of(verb); !verbs.empty())
    return with_nearest(concat("there must be ", listed(verbs), ", got ", got, "."), extra, verbs);
  const bool is_text = verb.get_option_no_throw("--text") && std::filesystem::exists(extra);
  const std::string hint = is_text ? concat("--text ", shell_path(extra), " reads that file.") : "";
  for (const CLI::Option* option : verb.get_options())
    if (option->get_positional())
      return {concat("there must be one ", option->get_type_name(), ", got ", got, " as well."), hint};
  return {concat("arguments must be flags and their values, got ", got, "."), hint};
}

/// Names the argument of a verb that is wrong, and why. CLI11 only reports that one is.
Complaint complaint_about(const CLI::App& verb, const Arguments& arguments, const CLI::ParseError& error) {
  if (const Arguments extras = verb.remaining(); !extras.empty()) {
    const auto flag = std::find_if(extras.begin(), extras.end(), is_flag);
    const std::string& extra = flag == extras.end() ? extras.front() : *flag;
    const auto at = std::find(arguments.begin() + 1, arguments.end(), extra);
    return about_extra(verb, extra, *(at - 1));
  }
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = option->get_positional() ? "a" : option->get_name();
    if (option->get_required() && option->count() == 0)
      return {concat("there must be ", name, " ", option->get_type_name(), ", got none.")};
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const CLI::Option* option = option_of(verb, arguments[i]);
    const bool has_value = i + 1 < arguments.size() && !option_of(verb, arguments[i + 1]);
    if (option && option->get_items_expected_max() > 0 && !has_value)
      return {concat(arguments[i], " must have a value after it, ", option->get_type_name(), ", got none.")};
    const size_t equals = arguments[i].find('=');
    option = option_of(verb, flag_part(arguments[i]));
    if (option && option->get_items_expected_max() == 0 && equals != std::string::npos &&
        !is_true_or_false(arguments[i].substr(equals + 1)))
      return {concat(flag_part(arguments[i]), " must be true or false, got ",
                     files::in_quotes(arguments[i].substr(equals + 1)), ".")};
  }
  return {concat(error.what(), ".")};
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
  std::cerr << "note: " << old->first << " is now " << old->second.words << std::endl;
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
  const auto [what, hint] = complaint_about(*verb, arguments, error);
  return concat("[", name, "] ", what, " Hint: ", hint, hint.empty() ? "" : " ", program, " ", name,
                " --help-all lists the flags.");
}

}  // namespace gradus::cli

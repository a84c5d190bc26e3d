#include <algorithm>

#include "gradus/files/error.hpp"
#include "gradus/tools/cli/completion/completion_scripts.hpp"
#include "gradus/tools/cli/program/paths.hpp"

namespace gradus::cli {
namespace {

/// `text` with a backslash before each of `special`.
std::string escaped(const std::string& text, const std::string& special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string in_single_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

/// What zsh does for a value: ":what it is:how to complete it".
std::string value_spec(const Flag& flag) {
  const std::string words = joined(flag.choices, " ");
  std::string action = takes_files(flag.unit) ? "_files" : takes_folders(flag.unit) ? "_files -/" : " ";
  if (!words.empty()) action = action == " " ? concat("(", words, ")") : concat(" _gradus_or_files ", words);
  return concat(escaped(flag.unit, "\\:"), ":", action);
}

std::string flag_specs(const Flag& flag) {
  std::string lines;
  for (const std::string& name : flag.names) {
    const bool is_long = name.starts_with("--");
    std::string spec = concat(flag.many ? "*" : "", name, flag.takes_value() && is_long ? "=" : "", "[",
                              escaped(flag.help, "\\[]"), "]");
    if (flag.takes_value()) spec += concat(":", value_spec(flag));
    lines += concat(" \\\n        ", in_single_quotes(spec));
  }
  return lines;
}

std::string argument_spec(const Flag& argument) {
  return concat(" \\\n        ", in_single_quotes(concat(argument.many       ? "*:"
                                                         : argument.required ? ":"
                                                                             : "::",
                                                         value_spec(argument))));
}

/// A function that completes the names of the verbs, or calls the function of the verb that was typed.
std::string choice_of(const Syntax& syntax) {
  std::string verbs, text;
  for (const Syntax& verb : syntax.verbs) {
    const std::string word = verb.name.substr(verb.name.rfind(' ') + 1);
    verbs += concat("\n        ", in_single_quotes(concat(word, ":", verb.help)));
  }
  for (const Flag& flag : syntax.flags) text += flag_specs(flag);
  return concat("  local curcontext=$curcontext state\n  _arguments -C", text,
                " \\\n        '1:verb:->verb' '*::argument:->argument'\n  case $state in\n    verb)\n      "
                "local -a verbs=(",
                verbs,
                ")\n      _describe verb verbs\n      ;;\n    argument)\n      local next=$0-$words[1]\n"
                "      if (( $+functions[$next] )); then $next; fi\n      ;;\n  esac\n");
}

std::string function_of(const Syntax& syntax) {
  std::string text = "_gradus";
  for (const char c : syntax.name.empty() ? "" : "-" + syntax.name) text += c == ' ' ? '-' : c;
  text += "() {\n";
  if (syntax.verbs.empty()) {
    text += "  _arguments -S";
    for (const Flag& flag : syntax.flags) text += flag_specs(flag);
    for (const Flag& argument : syntax.arguments) text += argument_spec(argument);
    // Of a flag's list zsh has the first value; the others are files where no argument is.
    const auto list = std::find_if(syntax.flags.begin(), syntax.flags.end(),
                                   [](const Flag& flag) { return flag.many && takes_files(flag.unit); });
    if (syntax.arguments.empty() && list != syntax.flags.end()) text += argument_spec(*list);
    text += "\n";
  } else {
    text += choice_of(syntax);
  }
  text += "}\n\n";
  for (const Syntax& verb : syntax.verbs) text += function_of(verb);
  return text;
}

}  // namespace

std::string zsh_completion(const Syntax& program) {
  return concat("#compdef gradus\n# Completion of gradus for zsh, written by `gradus completion zsh`.\n\n",
                "_gradus_or_files() { compadd -- \"$@\"; _files; }\n\n", function_of(program),
                "if [[ $funcstack[1] == _gradus ]]; then _gradus \"$@\"; else compdef _gradus gradus; fi\n");
}

}  // namespace gradus::cli

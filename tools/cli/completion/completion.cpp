// gradus completion: scripts with which shells complete command lines of the program.
#include <algorithm>
#include <iostream>
#include <memory>

#include "gradus/files/error.hpp"
#include "gradus/tools/cli/program/command_line.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/program/syntax.hpp"
#include "gradus/tools/cli/program/verbs.hpp"

namespace gradus::cli {
namespace {

// -- bash

constexpr const char* kBefore = R"(# Completion of gradus for bash, written by `gradus completion bash`.
_gradus() {
  local cur=${COMP_WORDS[COMP_CWORD]} verb="" flag="" words="" files="" first=1 values=0 i
  COMPREPLY=()
  if [[ $cur == "=" ]]; then cur=""; fi # Bash cuts --flag=value into three words.
  if ((COMP_CWORD > 1)); then verb=${COMP_WORDS[1]} first=2; fi
  case $verb in
)";

constexpr const char* kAfterVerbs = R"(  esac
  # The last flag before the cursor, and how many words stand between.
  for ((i = COMP_CWORD - 1; i >= first; i--)); do
    if [[ ${COMP_WORDS[i]} == -* ]]; then
      flag=${COMP_WORDS[i]}
      break
    fi
    if [[ ${COMP_WORDS[i]} != "=" ]]; then values=$((values + 1)); fi
  done
  if [[ $cur == -* ]] && ((values > 0)); then flag=""; fi # A list ends at the next flag.
  case "$verb:$flag:$values" in
)";

constexpr const char* kBeforeRest = R"(    *)
      case "$verb" in
)";

constexpr const char* kEnd = R"(      esac
      ;;
  esac
  if [[ -n $words ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"); fi
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$files" -- "$cur")
  fi
}
complete -F _gradus gradus
)";

std::string assigned(const std::vector<std::string>& words, const std::string& files) {
  std::string text;
  if (!words.empty()) text += concat(" words='", joined(words, " "), "'");
  if (!files.empty()) text += concat(" files=", files);
  return text;
}

std::string files_of(const Flag& flag) {
  return takes_files(flag.unit) ? "-f" : takes_folders(flag.unit) ? "-d" : "";
}

/// The values of a flag: words, files, or values that cannot be listed.
std::string values_of(const Syntax& verb, const Flag& flag) {
  const std::string patterns = joined(flag.names, " | ", [&](const std::string& name) {
    return concat("'", verb.name, ":", name, ":", flag.many ? "'*" : "0'");
  });
  const std::string offered = assigned(flag.choices, files_of(flag));
  return concat("    ", patterns, ")", offered.empty() ? " return" : offered, " ;;\n");
}

/// The words where no value of a flag is expected: flags, or the arguments of the verb.
std::string rest_of(const Syntax& verb) {
  std::vector<std::string> words;
  std::string files;
  for (const Flag& argument : verb.arguments) {
    words.insert(words.end(), argument.choices.begin(), argument.choices.end());
    if (files.empty()) files = files_of(argument);
  }
  const std::string flags = assigned(flag_names(verb), ""), arguments = assigned(words, files);
  if (arguments.empty()) return concat("        '", verb.name, "')", flags, " ;;\n");
  return concat("        '", verb.name, "') if [[ $cur == -* ]]; then", flags, "; else", arguments,
                "; fi ;;\n");
}

/// The verbs of the program, or of a verb that has verbs.
std::string verbs_of(const Syntax& syntax) {
  return concat("        '", syntax.name, "') words='", joined(verb_names(syntax), " "), " ",
                joined(flag_names(syntax), " "), "' ;;\n");
}

/// The script for bash 4 and later.
std::string bash_completion(const Syntax& program) {
  std::string text = kBefore;
  for (const Syntax& verb : program.verbs)
    if (!verb.verbs.empty())
      text += concat("    ", verb.name,
                     ") if ((COMP_CWORD > 2)); then verb+=\" ${COMP_WORDS[2]}\" first=3; fi ;;\n");
  text += kAfterVerbs;
  for (const Syntax* verb : leaves(program))
    for (const Flag& flag : verb->flags)
      if (flag.takes_value()) text += values_of(*verb, flag);
  text += kBeforeRest + verbs_of(program);
  for (const Syntax& verb : program.verbs)
    if (!verb.verbs.empty()) text += verbs_of(verb);
  for (const Syntax* verb : leaves(program)) text += rest_of(*verb);
  return text + kEnd;
}

// -- zsh

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

/// A value for zsh: ":description:action".
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

/// A function that completes the names of the verbs, or calls the function of the typed verb.
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
    // zsh completes the first value of a list; the others are completed as files where there is no argument.
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

/// The script for zsh: a file _gradus on its fpath.
std::string zsh_completion(const Syntax& program) {
  return concat("#compdef gradus\n# Completion of gradus for zsh, written by `gradus completion zsh`.\n\n",
                "_gradus_or_files() { compadd -- \"$@\"; _files; }\n\n", function_of(program),
                "if [[ $funcstack[1] == _gradus ]]; then _gradus \"$@\"; else compdef _gradus gradus; fi\n");
}

// -- the verb

const std::vector<std::string> kShells = {"bash", "zsh"};

int completion(const std::string& shell) {
  check_choice("completion", "the shell", shell, kShells);
  CLI::App app;
  set_up(app, "gradus");
  const Syntax program = syntax_of(app);
  std::cout << (shell == "bash" ? bash_completion(program) : zsh_completion(program)) << std::flush;
  return kDone;
}

}  // namespace

Action add_completion(CLI::App& verb, const std::string& program) {
  auto shell = std::make_shared<std::string>();
  choices(add_argument(verb, "shell", *shell, "SHELL", "bash or zsh"), [] { return kShells; });
  verb.footer(
      with_program(R"(The packages install both scripts. The examples load one into the current shell only.

Examples:
  source <($ completion bash)
  source <($ completion zsh))",
                   program));
  return {[shell] { return completion(*shell); }};
}

}  // namespace gradus::cli

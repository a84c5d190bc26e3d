#include "gradus/files/error.hpp"
#include "gradus/tools/cli/completion/completion_scripts.hpp"
#include "gradus/tools/cli/program/paths.hpp"

namespace gradus::cli {
namespace {

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

/// What may stand behind a flag: a word, a file, or something that cannot be listed.
std::string values_of(const Syntax& verb, const Flag& flag) {
  std::string patterns;
  for (const std::string& name : flag.names)
    patterns +=
        concat(patterns.empty() ? "" : " | ", "'", verb.name, ":", name, ":", flag.many ? "'*" : "0'");
  const std::string offered = assigned(flag.choices, files_of(flag));
  return concat("    ", patterns, ")", offered.empty() ? " return" : offered, " ;;\n");
}

/// Where no flag waits for a value: flags, or what the verb takes without one.
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

/// Of a verb that has verbs, and of the program.
std::string verbs_of(const Syntax& syntax) {
  std::vector<std::string> words = verb_names(syntax);
  for (const std::string& name : flag_names(syntax)) words.push_back(name);
  return concat("        '", syntax.name, "')", assigned(words, ""), " ;;\n");
}

}  // namespace

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

}  // namespace gradus::cli

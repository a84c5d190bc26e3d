#include "gradus/cli/program/completion.hpp"

#include "gradus/cli/program/flags.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

constexpr const char* kBegin = R"(_gradus_words() {
  local cur=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} verb="" words=""
  if [[ $cur == = ]]; then cur=""; fi # Bash cuts --flag=value into three words.
  if [[ $last == = ]]; then last=${COMP_WORDS[COMP_CWORD-2]}; fi
  if ((COMP_CWORD > 1)); then verb=${COMP_WORDS[1]}; fi
  if [[ $verb == tokenizer ]] && ((COMP_CWORD > 2)); then verb+=" ${COMP_WORDS[2]}"; fi
  case "$verb:$last" in
)";
constexpr const char* kEnd = R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _gradus_words gradus
)";

std::string one_case(const std::string& pattern, const std::vector<std::string>& words) {
  return concat("    ", pattern, ") words='", joined(words, " "), "' ;;\n");
}

/// The cases of a verb, and of the verbs that it has: a flag before the cursor that takes a value, or not.
std::string cases_of(CLI::App& verb, const std::string& name) {
  std::string cases;
  std::vector<std::string> words;
  for (CLI::App* inner : verb.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(inner->get_name());
    cases += cases_of(*inner, name.empty() ? inner->get_name() : concat(name, " ", inner->get_name()));
  }
  for (CLI::Option* option : verb.get_options()) {
    const std::vector<std::string> flags = names_of(*option), values = suggested(*option);
    words.insert(words.end(), flags.begin(), flags.end());
    if (option->get_positional()) words.insert(words.end(), values.begin(), values.end());
    if (option->get_items_expected_max() == 0) continue;
    for (const std::string& flag : flags) cases += one_case(concat("'", name, ":", flag, "'"), values);
  }
  return cases + one_case(concat("'", name, ":'*"), words);
}

}  // namespace

std::string completion_script(CLI::App& app) { return kBegin + cases_of(app, "") + kEnd; }

}  // namespace gradus::cli

// What the build writes about the program: scripts with which shells complete lines, and the manual page.
#include <regex>

#include "program.hpp"
#include "test_files.hpp"

namespace gradus::cli::test_completion {

using Words = std::set<std::string>;

/// The files that the build writes.
struct Docs {
  Scratch scratch;
  std::string bash = scratch.path("gradus"), zsh = scratch.path("_gradus"), man = scratch.path("gradus.1");

  Docs() {
    const std::string script = (testing::test_files() / "../cli/generated_docs.sh").string();
    const Outcome outcome = run_shell("bash '" + script + "' '" + scratch.path(".") + "' \"$GRADUS\"");
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
  }

  /// What bash offers where the last of `typed` is being typed.
  Words offered(const std::vector<std::string>& typed) const {
    std::string words;
    for (const std::string& word : typed) words += " '" + word + "'";
    const std::string script =
        "source '" + bash + "' && COMP_WORDS=(gradus" + words +
        ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && { _gradus_words; printf '%s\\n' "
        "\"${COMPREPLY[@]}\"; }";
    const Outcome outcome = run_shell("exec bash -c \"$SCRIPT\"", {.environment = {"SCRIPT=" + script}});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    const std::vector<std::string> lines = lines_of(outcome.out);
    Words found(lines.begin(), lines.end());
    found.erase("");
    return found;
  }
};

bool have(const std::string& tool) { return run_shell("command -v " + tool + " >/dev/null").code == 0; }

/// The flags that the help of a verb lists.
Words flags_in_help(const std::vector<std::string>& verb) {
  Words flags;
  static const std::regex flag("--[a-z0-9-]+");
  for (const std::string& line : lines_of(run_program(args(verb, "--help-all")).out)) {
    if (!line.starts_with("  -")) continue;
    const std::string names = line.substr(2, line.find(' ', 2) - 2);
    for (std::sregex_iterator at(names.begin(), names.end(), flag), end; at != end; ++at)
      flags.insert(at->str());
  }
  return flags;
}

TEST_CASE("bash completes verbs, flags and words that can be listed, and leaves files to itself",
          "[needs.verbs]") {
  const Docs docs;
  const std::vector<std::pair<std::vector<std::string>, Words>> table = {
      {{"tr"}, {"train"}},
      {args("tokenizer en"), {"encode"}},
      {args("train --prec"), {"--precision"}},
      {args("train --steps 100 --no-"), {"--no-bias", "--no-chat-tokens", "--no-qk-norm", "--no-skip-bad"}},
      {args("train --precision", std::string()), {"auto", "bf16", "float32"}},
      {args("train --precision = b"), {"bf16"}},
      {args("train --precision ="), {"auto", "bf16", "float32"}},
      {args("train --text text.txt --prec"), {"--precision"}},
      {args("train --tokenizer b"), {"bpe", "byte"}},
      {args("sample --weights int"), {"int4", "int8"}},
      {args("gradcheck --op softm"), {"softmax"}},
      {args("lesson two-"), {"two-masks"}},
      {args("train --steps", std::string()), {}},
      {args("train --text te"), {}},
      {args("info te"), {}}};
  for (const auto& [typed, offered] : table) {
    INFO(typed.back());
    CHECK(docs.offered(typed) == offered);
  }
  CHECK_HAS(read(docs.bash), "complete -o default -F _gradus_words gradus\n");
}

TEST_CASE("bash and the manual page have each flag that the help lists", "[needs.verbs]") {
  const Docs docs;
  const std::string page = std::regex_replace(read(docs.man), std::regex("\\\\-"), "-");
  for (const std::string& verb :
       args("train sample chat eval look new export gradcheck conform lesson replay "
            "sweep report bench plan info tokenizer"))
    for (const std::string& inner : verb == "tokenizer" ? args("train encode decode info") : args("none")) {
      const auto words = inner == "none" ? args(verb) : args(verb, inner);
      INFO(verb << " " << inner);
      const Words listed = flags_in_help(words);
      CHECK(listed.contains("--help"));
      CHECK(docs.offered(args(words, std::string("--"))) == listed);
      const size_t begin = page.find(concat("\n.SH gradus ", joined(words, " "), "\n"));
      REQUIRE(begin != std::string::npos);
      const std::string section = page.substr(begin, page.find("\n.SH", begin + 1) - begin);
      for (const std::string& flag : listed) CHECK_HAS(section, flag);
    }
  for (const char* heading : {"NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT"})
    CHECK_HAS(page, std::string(".SH ") + heading + "\n");
  CHECK_HAS(page, "Exit codes: 0 done");
  if (have("groff")) CHECK(run_shell("groff -man -ww -Tutf8 -z '" + docs.man + "' 2>&1").out.empty());
}

TEST_CASE("zsh completes too") {
  if (!have("zsh")) {
    WARN("skipped: there is no zsh");
    SUCCEED();
    return;
  }
  const Docs docs;
  // An interactive zsh at a terminal of its own: what is typed, a tab, and what has to stand there then.
  const std::string script = R"(zmodload zsh/zpty; zpty z zsh -f -i
zpty -w z "cd $1; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; print rea''dy"; zpty -r z out '*ready*'
complete() { zpty -w -n z "$1"$'\t'; zpty -r z out "*$2*"; zpty -w -n z $'\x15' }
complete 'gradus tok' 'tokenizer'
complete 'gradus train --prec' '--precision'
complete 'gradus train --precision bf' 'bf16'
complete 'gradus tokenizer encode --spe' '--specials'
complete 'gradus train --tokenizer by' 'byte'
complete 'gradus train --text tr' 'try.zsh'
complete 'gradus info tr' 'try.zsh'
print complete)";
  const Outcome outcome = run_shell("timeout 120 zsh -f '" + docs.scratch.file("try.zsh", script) + "' '" +
                                    docs.scratch.path(".") + "'");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 0);
  CHECK_HAS(outcome.out, "complete\n");
}

}  // namespace gradus::cli::test_completion

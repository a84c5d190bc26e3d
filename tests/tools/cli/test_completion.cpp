// What the program says of itself: to the shells that complete its command lines, and to man.
#include <regex>

#include "program.hpp"

namespace gradus::cli::test_completion {

using Words = std::set<std::string>;

/// What bash offers where the last of `typed` is being typed, in a folder with text.txt, texts/ and a b/.
Words offered(const std::vector<std::string>& typed) {
  const Scratch scratch;
  scratch.file("text.txt", "");
  std::filesystem::create_directory(scratch.path("texts"));
  std::filesystem::create_directory(scratch.path("a b"));
  std::string words;
  for (const std::string& word : typed) words += " '" + word + "'";
  const std::string script = "cd '" + scratch.path(".") + "' && source '" +
                             scratch.file("gradus", call("completion bash").out) +
                             "' && rm gradus && COMP_WORDS=(gradus" + words +
                             ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _gradus && printf '%s\\n' "
                             "\"${COMPREPLY[@]}\"";
  const Outcome outcome = run_shell("exec bash -c \"$SCRIPT\"", {.environment = {"SCRIPT=" + script}});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  const std::vector<std::string> lines = lines_of(outcome.out);
  Words found(lines.begin(), lines.end());
  found.erase("");
  return found;
}

bool have(const std::string& tool) { return run_shell("command -v " + tool + " >/dev/null").code == 0; }

/// The flags that the help of a verb lists.
Words flags_in_help(const std::vector<std::string>& verb) {
  std::vector<std::string> arguments = verb;
  arguments.push_back("--help");
  Words flags;
  static const std::regex flag("--[a-z0-9-]+");
  for (const std::string& line : lines_of(run_program(arguments).out)) {
    if (!line.starts_with("  -")) continue;
    const std::string names = line.substr(2, line.find(' ', 2) - 2);
    for (std::sregex_iterator at(names.begin(), names.end(), flag), end; at != end; ++at)
      flags.insert(at->str());
  }
  return flags;
}

const std::vector<std::vector<std::string>> kVerbs{{"train"},
                                                   {"sample"},
                                                   {"eval"},
                                                   args("tokenizer train"),
                                                   args("tokenizer encode"),
                                                   args("tokenizer decode"),
                                                   args("tokenizer info"),
                                                   {"export"},
                                                   {"gradcheck"},
                                                   {"conform"},
                                                   {"lesson"},
                                                   {"replay"},
                                                   {"sweep"},
                                                   {"bench"},
                                                   {"plan"},
                                                   {"info"},
                                                   {"completion"},
                                                   {"man"}};

TEST_CASE("bash completes verbs, flags, words that can be listed, files and folders") {
  CHECK(offered({"tr"}) == Words{"train"});
  CHECK(offered(args("tokenizer en")) == Words{"encode"});
  CHECK(offered(args("train --prec")) == Words{"--precision"});
  CHECK(offered(args("train --steps 100 --no-")) ==
        Words{"--no-bias", "--no-chat-tokens", "--no-qk-norm", "--no-skip-bad"});
  CHECK(offered({"train", "--precision", ""}) == Words{"auto", "bf16", "float32"});
  CHECK(offered(args("train --precision = b")) == Words{"bf16"});
  CHECK(offered(args("train --precision =")) == Words{"auto", "bf16", "float32"});
  CHECK(offered({"train", "--steps", ""}).empty());
  CHECK(offered({"train", "--text", ""}) == Words{"text.txt", "texts", "a b"});
  CHECK(offered(args("train --text text.txt te")) == Words{"text.txt", "texts"});
  CHECK(offered(args("train --text text.txt --prec")) == Words{"--precision"});
  CHECK(offered(args("export texts --out te")) == Words{"text.txt", "texts"});
  CHECK(offered(args("info te")) == Words{"text.txt", "texts"});
  CHECK(offered({"train", "--out", ""}) == Words{"texts", "a b"});
  CHECK(offered(args("train --tokenizer b")) == Words{"bpe", "byte"});
  CHECK(offered(args("train --tokenizer t")) == Words{"text.txt", "texts"});
  CHECK(offered(args("sample te")) == Words{"texts"});
  CHECK(offered(args("sample --weights int")) == Words{"int4", "int8"});
  CHECK(offered(args("tokenizer encode texts text.t")) == Words{"text.txt"});
  CHECK(offered(args("gradcheck --op softm")) == Words{"softmax"});
  CHECK(offered(args("lesson two-")) == Words{"two-masks"});
  CHECK(offered({"bench", "--precision", ""}) == Words{"bf16", "float32"});
  CHECK(offered({"completion", ""}) == Words{"bash", "zsh"});
}

TEST_CASE("bash offers each flag that the help lists") {
  for (std::vector<std::string> verb : kVerbs) {
    INFO(verb.back());
    const Words listed = flags_in_help(verb);
    CHECK(listed.contains("--help"));
    verb.push_back("--");
    CHECK(offered(verb) == listed);
  }
}

TEST_CASE("bash completes what is called gradus, wherever it lies") {
  const Outcome outcome =
      run_shell("exec bash -c 'source <(\"$GRADUS\" completion bash); complete -p gradus'");
  CHECK(outcome.out == "complete -F _gradus gradus\n");
}

TEST_CASE("zsh completes too") {
  if (!have("zsh")) {
    WARN("skipped: there is no zsh");
    SUCCEED();
    return;
  }
  const Scratch scratch;
  const std::string file = scratch.file("_gradus", call("completion zsh").out);
  CHECK(run_shell("zsh -n '" + file + "'").code == 0);
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
complete 'gradus train --text try.zsh _gr' '_gradus'
complete 'gradus train --text try.zsh --prec' '--precision'
complete 'gradus info tr' 'try.zsh'
print complete)";
  const Outcome outcome =
      run_shell("timeout 120 zsh -f '" + scratch.file("try.zsh", script) + "' '" + scratch.path(".") + "'");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 0);
  CHECK_HAS(outcome.out, "complete\n");
}

TEST_CASE("another shell is refused by its name") {
  check_refused(args("completion fish"), {"the shell must be bash or zsh, got 'fish'"});
}

TEST_CASE("the manual page has every flag of every verb") {
  std::string page = call("man").out;
  CHECK(page.starts_with(".TH GRADUS 1"));
  const Scratch scratch;
  const std::string file = scratch.file("gradus.1", page);
  if (have("groff")) {
    const Outcome formatted = run_shell("groff -man -ww -Tutf8 -z '" + file + "' 2>&1");
    CHECK(formatted.code == 0);
    CHECK(formatted.out.empty());
  }
  for (size_t at; (at = page.find("\\-")) != std::string::npos;) page.erase(at, 1);
  const std::string description = page.substr(0, page.find("\n.SH VERBS"));
  for (const std::string& flag : args("--version --help")) CHECK_HAS(description, "\\fB" + flag + "\\fR");
  size_t begin = 0;
  for (const std::vector<std::string>& verb : kVerbs) {
    const std::string name = verb.size() == 1 ? verb[0] : verb[0] + " " + verb[1];
    begin = page.find(".SS gradus " + name + " [FLAGS]", begin);
    INFO(name);
    REQUIRE(begin != std::string::npos);
    const std::string section = page.substr(begin, page.find("\n.S", begin + 1) - begin);
    for (const std::string& flag : flags_in_help(verb))
      if (flag != "--help") CHECK_HAS(section, "\\fB" + flag + "\\fR");
  }
  for (const char* heading : {"NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"})
    CHECK_HAS(page, std::string(".SH ") + heading + "\n");
}

}  // namespace gradus::cli::test_completion

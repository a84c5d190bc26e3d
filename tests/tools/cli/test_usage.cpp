// Help, wherever somebody looks for it, and what is said to those who mistype.
#include <regex>

#include "program.hpp"

namespace gradus::cli::test_usage {

const std::vector<std::string> kVerbs = args(
    "train sample eval tokenizer gradcheck conform lesson replay sweep bench info plan completion "
    "man export new");

TEST_CASE("help is found by every way that leads to it") {
  CHECK(call("help").out == call("--help").out);
  for (const std::string& verb : kVerbs) {
    const Outcome help = call(verb, "--help");
    CHECK(help.code == 0);
    CHECK_HAS(help.out, "Usage: gradus " + verb + " ", "Examples:");
    for (const std::vector<std::string>& way :
         std::vector<std::vector<std::string>>{{"help", verb}, {verb, "help"}, {verb, "-h"}}) {
      const Outcome same = run_program(way);
      CHECK(same.code == 0);
      CHECK(same.out == help.out);
    }
  }
  check_refused(args("help fly"), {"there must be a verb first, got 'fly'"});
}

TEST_CASE("a folder called help is a folder") {
  const Scratch scratch;
  const std::string home = std::filesystem::current_path().string();
  std::filesystem::create_directory(scratch.path("help"));
  std::filesystem::current_path(scratch.path("."));
  check_refused(args("info help"), {"help/config.json"});
  std::filesystem::current_path(home);
}

TEST_CASE("what is printed must arrive, whatever the verb") {
  const auto refused = [](const std::vector<std::string>& arguments) {
    const Outcome outcome = run_program(arguments, {.full_output = true});
    INFO(arguments.front() << "\n" << outcome.err);
    CHECK(outcome.code == 1);
    REQUIRE(lines_of(outcome.err).size() == 1);
    CHECK_HAS(outcome.err, "the standard output must be writable");
  };
  refused({"--help"});
  refused({"--version"});
  for (const std::string& verb : kVerbs) refused({verb, "--help"});
  refused({"lesson"});
  refused(args("lesson 000"));
  refused(args("gradcheck --op tanh"));
  refused(args("info --preset tiny"));
}

TEST_CASE("who mistypes is told what may have been meant") {
  check_refused({"trian"}, {"got 'trian'. Hint: did you mean gradus train? gradus --help lists the verbs."});
  check_refused(args("help smaple"), {"did you mean gradus sample?"});
  check_refused(args("train --presett tiny"),
                {"[train] flags must be ones that train has, got --presett. Hint: did you mean --preset? "
                 "gradus train --help lists the flags."});
  check_refused(args("train --presett=tiny"), {"got --presett. Hint: did you mean --preset?"});
  check_refused(args("train --no-bais"), {"did you mean --no-bias?"});
  check_refused(args("train -steps 3"), {"did you mean --steps?"});
  check_refused(args("sample out --top_p 0.9"), {"did you mean --top-p?"});
  check_refused(args("sample out --temp 0.9"), {"did you mean --temperature?"});
  check_refused(args("eval --txet a.txt"), {"[eval] ", "did you mean --text?"});
  check_refused(args("train --preset tinny"),
                {"--preset must be tiny, gru, nano, mini, gemma, midi, maxi, small or "
                 "gpt2, got 'tinny'. Hint: did you mean tiny?"});
  check_refused(args("train --corpus kvj"), {"--corpus must be kjv or stories", "did you mean kjv?"});
  check_refused(args("train --decay cosin"),
                {"--decay must be cosine, linear, constant or wsd", "did you mean cosine?"});
  check_refused(args("train --tokenizer chars"),
                {"--tokenizer must be char, byte or bpe", "did you mean char?"});
  check_refused(args("info --preset GPT2"), {"[info] --preset must be ", "did you mean gpt2?"});
  check_refused(args("gradcheck --op softmx"), {"did you mean softmax?"});
  check_refused(args("lesson two-mask"), {"did you mean two-masks?"});
}

TEST_CASE("a value that is no number is named with its flag") {
  check_refused(args("train --lr fast"),
                {"[train] --lr must be a number, got 'fast'. Hint: gradus train --help lists the flags."});
  check_refused(args("sample out --top-p 0,9"), {"[sample] --top-p must be a number, got '0,9'."});
  check_refused(args("bench --seconds 5s"), {"[bench] --seconds must be a number, got '5s'."});
  check_refused(args("train --no-bias=maybe"), {"[train] --bias must be true or false, got 'maybe'."});
}

TEST_CASE("nobody is told what is not near") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"fly"},
                                             {"train", "--wobble"},
                                             {"train", "--preset", "huge"},
                                             {"train", "--x"},
                                             args("lesson what")}) {
    const Outcome outcome = run_program(arguments);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find("did you mean") == std::string::npos);
  }
}

TEST_CASE("a file where flags are due leads to --text") {
  const Scratch scratch;
  const std::string text = scratch.text("my text.txt");
  check_refused({"train", text}, {"--text \"" + text + "\" reads that file"});
}

TEST_CASE("errors of the library name flags as they are typed") {
  check_refused(args("info --layers 20000"), {"[decoder] --layers must be in [1, 10000], got 20000"});
  check_refused(args("info --heads 3"), {"[decoder] --heads must divide --embd, got"});
  check_refused(args("info --vocab -1"), {"[decoder] --vocab must be in "});
  check_refused(args("info --block 0"), {"[decoder] --block must be in "});
  const Scratch scratch;
  const std::string text = scratch.text();
  const auto train = [&](const std::string& flag, const std::string& value, const std::string& words) {
    check_refused(args("train --text", text, "--preset tiny --out", scratch.path("run"), flag, value),
                  {words});
  };
  train("--layers", "20000", "[decoder] --layers must be in [1, 10000], got 20000");
  train("--block", "100000", "must have at least --block + 1 = 100001 tokens");
  train("--val-fraction", "0.999", "(--val-fraction 0.999)");
}

/// The flags of a verb whose value its help calls N, STEPS or TOKENS.
std::vector<std::string> whole_number_flags(const std::string& verb) {
  std::vector<std::string> flags;
  const std::regex line("^ +(--[a-z-]+) (N|STEPS|TOKENS)\\b.*");
  for (const std::string& text : lines_of(call(verb, "--help").out))
    if (std::smatch match; std::regex_match(text, match, line)) flags.push_back(match[1]);
  return flags;
}

TEST_CASE("what is no whole number, or too large, is refused by the flag's name") {
  size_t flags = 0;
  for (const std::string& verb : args("train sample eval gradcheck bench info"))
    for (const std::string& flag : whole_number_flags(verb)) {
      ++flags;
      const auto folder = verb == "sample" ? args("none")
                          : verb == "eval" ? args("none --text none")
                                           : args();
      const auto command = args(verb, folder, flag);
      for (const char* wrong : {"5k", "0x10"})
        check_refused(args(command, wrong), {flag + " must be a whole number, got '" + wrong + "'"});
      for (const char* large : {"9223372036854775807", "9223372036854775808", "18446744073709551616"})
        check_refused(args(command, large), {flag + " must be a whole number of at most ", large});
    }
  CHECK(flags >= 27);
}

TEST_CASE("other ways to write what is no whole number are refused too") {
  for (const char* wrong : {"", " 5", "5 ", "1.5", "1e3", "1_000", "+", "-", "+-5", "five", "\xD9\xA5"})
    check_refused(args("info --layers", wrong), {"[info] --layers must be a whole number, got '"});
  check_refused(args("info --layers=-9223372036854775809"),
                {"--layers must be a whole number of at least 0"});
}

TEST_CASE("digits are decimal digits, with leading zeros and a sign too") {
  for (const char* ten : {"10", "010", "+10", "0000000000000000000000000000010"})
    CHECK_HAS(call("info --layers", ten).out, "10 layers");
}

}  // namespace gradus::cli::test_usage

// Help, wherever somebody looks for it, and what is said to those who mistype.
#include <regex>

#include "program.hpp"

namespace gradus::cli::test_usage {

TEST_CASE("help is found by every way that leads to it", "[needs.verbs]") {
  CHECK(call("help").out == call("--help").out);
  for (const std::string& verb : args("train sample eval tokenizer gradcheck conform lesson replay sweep "
                                      "bench info plan export new")) {
    const Outcome help = must(verb, "--help");
    CHECK_HAS(help.out, "Usage: gradus " + verb + " ", "Examples:");
    if (verb == "train" || verb == "tokenizer")
      for (const auto& way : {args("help", verb), args(verb, "help"), args(verb, "-h")})
        CHECK(run_program(way).out == help.out);
  }
  CHECK_HAS(call("--help-all").out, "--norm-eps F", "--repetition-penalty F");
  check_refused(args("help fly"), {"there must be a verb first, got 'fly'"});
}

TEST_CASE("a folder called help is a folder") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("help"));
  const auto enter = [&] { std::filesystem::current_path(scratch.path(".")); };
  check_refused(args("info help"), {"help/config.json"}, {.in_child = enter});
}

TEST_CASE("what is printed must arrive, whatever the verb", "[needs.verbs]") {
  for (const auto& arguments :
       {args("--help"), args("--version"), args("train --help"), args("lesson"), args("lesson 000"),
        args("gradcheck --op tanh"), args("info --preset tiny")}) {
    const Outcome outcome = run_program(arguments, {.full_output = true});
    INFO(arguments.front() << "\n" << outcome.err);
    CHECK(outcome.code == 1);
    REQUIRE(lines_of(outcome.err).size() == 1);
    CHECK_HAS(outcome.err, "the standard output must be writable");
  }
}

TEST_CASE("who mistypes is told what may have been meant", "[needs.verbs]") {
  const std::pair<const char*, const char*> table[] = {
      {"trian", "got 'trian'. Hint: did you mean gradus train? gradus --help lists the verbs."},
      {"help smaple", "did you mean gradus sample?"},
      {"train --presett tiny",
       "[train] flags must be ones that train has, got --presett. Hint: did you mean --preset? "
       "gradus train --help-all lists the flags."},
      {"train --presett=tiny", "got --presett. Hint: did you mean --preset?"},
      {"train --no-bais", "did you mean --no-bias?"},
      {"train -steps 3", "did you mean --steps?"},
      {"sample out --top_p 0.9", "did you mean --top-p?"},
      {"sample out --temp 0.9", "did you mean --temperature?"},
      {"eval --txet a.txt", "did you mean --text?"},
      {"train --preset tinny",
       "--preset must be tiny, gru, nano, mini, gemma, midi, maxi, small or gpt2, got 'tinny'. Hint: did "
       "you "},
      {"train --corpus kvj", "--corpus must be kjv or stories, got 'kvj'. Hint: did you mean kjv?"},
      {"train --decay cosin", "--decay must be cosine, linear, constant or wsd, got 'cosin'. Hint: did you "},
      {"train --tokenizer chars", "did you mean char?"},
      {"info --preset GPT2", "did you mean gpt2?"},
      {"gradcheck --op softmx", "did you mean softmax?"},
      {"lesson two-mask", "did you mean two-masks?"},
      {"train --lr fast", "[train] --lr must be a number, got 'fast'."},
      {"sample out --top-p 0,9", "[sample] --top-p must be a number, got '0,9'."},
      {"bench --seconds 5s", "[bench] --seconds must be a number, got '5s'."}};
  for (const auto& [typed, said] : table) check_refused(split(typed), {said});
  for (const auto& far : {args("fly"), args("train --wobble"), args("train --preset huge"), args("train --x"),
                          args("lesson what")})
    CHECK_THAT(check_refused(far, {}), !ContainsSubstring("did you mean"));
  const Scratch scratch;
  const std::string text = scratch.text("my text.txt");
  check_refused({"train", text}, {"--text \"" + text + "\" reads that file"});
}

TEST_CASE("errors of the library name flags as they are typed") {
  check_refused(args("info --layers 20000"), {"[decoder] --layers must be in [1, 1000], got 20000"});
  check_refused(args("info --heads 3"), {"[decoder] --heads must divide --embd, got"});
  check_refused(args("info --vocab -1"), {"[decoder] --vocab must be in "});
  check_refused(args("info --block 0"), {"[decoder] --block must be in "});
  const Scratch scratch;
  const auto train = args("train --text", scratch.text(), "--preset tiny --out", scratch.path("run"));
  check_refused(args(train, "--layers 20000"), {"[decoder] --layers must be in [1, 1000], got 20000"});
  check_refused(args(train, "--block 100000"), {"must have at least --block + 1 = 100001 tokens"});
  check_refused(args(train, "--val-fraction 0.999"), {"(--val-fraction 0.999)"});
}

TEST_CASE("what is no whole number, or too large, is refused by the flag's name") {
  const std::regex line("^ +(--[a-z-]+) (N|STEPS|TOKENS)\\b.*");
  size_t flags = 0;
  for (const std::string& verb : args("train sample eval gradcheck bench info"))
    for (const std::string& text : lines_of(call(verb, "--help-all").out)) {
      std::smatch match;
      if (!std::regex_match(text, match, line)) continue;
      ++flags;
      const auto command =
          args(verb, verb == "sample" || verb == "eval" ? args("none") : args(""), match[1].str());
      check_refused(args(command, "5k"), {match[1].str() + " must be a whole number, got '5k'"});
      check_refused(args(command, "9223372036854775808"),
                    {match[1].str() + " must be a whole number of at most "});
    }
  CHECK(flags >= 27);
  for (const char* wrong :
       {"", " 5", "5 ", "1.5", "1e3", "1_000", "+", "-", "+-5", "0x10", "five", "\xD9\xA5"})
    check_refused({"info", "--layers", wrong}, {"[info] --layers must be a whole number, got '"});
  for (const char* large : {"9223372036854775807", "18446744073709551616"})
    check_refused({"info", "--layers", large}, {"--layers must be a whole number of at most ", large});
  check_refused(args("info --layers=-9223372036854775809"),
                {"--layers must be a whole number of at least 0"});
  for (const char* ten : {"10", "010", "+10", "0000000000000000000000000000010"})
    CHECK_HAS(run_program({"info", "--layers", ten}).out, "10 layers");
}

}  // namespace gradus::cli::test_usage

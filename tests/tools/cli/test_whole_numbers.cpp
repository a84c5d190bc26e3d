// Every flag of every verb that takes a whole number: what is none, or does not fit, is refused by name.
#include <regex>

#include "program.hpp"

namespace gradus::cli::test_whole_numbers {

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
  for (const char* verb : args("train sample eval gradcheck bench info"))
    for (const std::string& flag : whole_number_flags(verb)) {
      ++flags;
      std::vector<std::string> command{verb, flag, ""};
      if (std::string(verb) == "sample" || std::string(verb) == "eval")
        command.insert(command.begin() + 1, "none");
      if (std::string(verb) == "eval") command.insert(command.end(), {"--text", "none"});
      const size_t value = std::string(verb) == "sample" || std::string(verb) == "eval" ? 3 : 2;
      for (const char* wrong : {"5k", "0x10"}) {
        command[value] = wrong;
        check_refused(command, {flag + " must be a whole number, got '" + wrong + "'"});
      }
      for (const char* large : {"9223372036854775807", "9223372036854775808", "18446744073709551616"}) {
        command[value] = large;
        check_refused(command, {flag + " must be a whole number of at most ", large});
      }
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

}  // namespace gradus::cli::test_whole_numbers

#include <cmath>
#include <map>
#include <string>

#include "catch.hpp"
#include "gradus/data/grammar.hpp"
#include "grammar_oracle.hpp"
#include "support.hpp"

using gradus::Generator;
using gradus::data::Grammar;

namespace {

const std::string kRules = R"(
hero  = Anna | 3:Ben
he    = she | he
place = home | to the sea
tail  = . | , twice.
story = {hero} ran, {he@hero} fell{tail} {place} {hero} {he@hero} {@place}!
chain = 2:Once {hero} and {hero} met {@hero}.\n
      | So {story}
)";

std::string error_in(const std::string& rules) {
  return error_of([&] { Grammar grammar(rules); });
}

}  // namespace

TEST_CASE("entropy and mean size are those of all the texts a grammar can write") {
  const auto all = GrammarOracle(kRules).derivations([](const std::string&) { return true; });
  REQUIRE(all.size() == 2 * 2 * 2 * 2 + 2 * 2);
  double probability = 0, entropy = 0, size = 0;
  for (const auto& d : all) {
    probability += std::exp(-d.nats);
    entropy += std::exp(-d.nats) * d.nats;
    size += std::exp(-d.nats) * static_cast<double>(d.text.size());
  }
  const Grammar grammar(kRules);
  CHECK(probability == Catch::Approx(1).epsilon(1e-12));
  CHECK(grammar.entropy() == Catch::Approx(entropy).epsilon(1e-12));
  CHECK(grammar.mean_size() == Catch::Approx(size).epsilon(1e-12));
  for (const auto& d : all) CHECK(grammar.nats(d.text) == Catch::Approx(d.nats).epsilon(1e-12));
}

TEST_CASE("a grammar writes each text as often as its probability says") {
  const Grammar grammar(kRules);
  Generator generator(7);
  std::map<std::string, int> counts;
  const int draws = 20000;
  for (int i = 0; i < draws; ++i) ++counts[grammar.write(generator)];
  double chi_squared = 0;
  const auto all = GrammarOracle(kRules).derivations([](const std::string&) { return true; });
  for (const auto& d : all) {
    const double expected = draws * std::exp(-d.nats);
    chi_squared += std::pow(counts[d.text] - expected, 2) / expected;
  }
  CHECK(counts.size() == all.size());
  CHECK(chi_squared < 43.8);  // 19 degrees of freedom, exceeded by chance once in 1000
}

TEST_CASE("what one choice is worth") {
  CHECK(Grammar("coin = heads | tails").entropy() == Catch::Approx(std::log(2)));
  CHECK(Grammar("sure = words").entropy() == 0);
  CHECK(Grammar("coin = 3:h | tt").mean_size() == Catch::Approx(1.25));
  CHECK(Grammar("coin = 3:h | tt").nats("htth") == Catch::Approx(-2 * std::log(0.75) - std::log(0.25)));
}

TEST_CASE("nats names the byte where a text strays from the grammar") {
  const Grammar grammar("hero = Anna | Ben\nstory = {hero} sang. {@hero} slept.\\n");
  CHECK(grammar.nats("Anna sang. Anna slept.\nBen sang. Ben slept.\n") == Catch::Approx(2 * std::log(2)));
  CHECK(error_of([&] { grammar.nats("Anna sang. Ben slept.\n"); }) ==
        "[grammar] the text must go on as rule story says, got other at byte 11.");
  CHECK(error_of([&] { grammar.nats("Carl sang."); }) ==
        "[grammar] the text must go on as rule hero says, got other at byte 0.");
  CHECK(error_of([&] { grammar.nats("Anna sang. Anna slept.\nBen"); }) ==
        "[grammar] the text must go on as rule story says, got other at byte 26.");
}

TEST_CASE("rules that break the rules are refused by name") {
  CHECK(error_in("") == "[grammar] there must be at least one rule, got none.");
  CHECK(error_in("just words") == "[grammar] a rule must read `name = words | words`, got 'just words'.");
  CHECK(error_in("= words") == "[grammar] a rule must read `name = words | words`, got ''.");
  CHECK(error_in("a = x\na = y") == "[grammar] rule a must be given once, got it twice.");
  CHECK(error_in("a = x | ") == "[grammar] rule a must have words in each alternative, got an empty one.");
  CHECK(error_in("a = x || y") == "[grammar] rule a must have words in each alternative, got an empty one.");
  CHECK(error_in("a = 0:x | y") == "[grammar] rule a must have weights from 1, got '0:x'.");
  CHECK(error_in("a = x {b") == "[grammar] rule a must close its brace, got '{b'.");
  CHECK(error_in("a = x {b}\nb = y") == "[grammar] rule a must use only rules above it, got 'b'.");
  CHECK(error_in("a = x {a}") == "[grammar] rule a must use only rules above it, got 'a'.");
  CHECK(error_in("a = x | y\nb = p | q | r\nc = {a} {b@a}") ==
        "[grammar] rule c must pair rules of equal length in {b@a}, got 3 and 2 alternatives.");
  CHECK(error_in("a = x | y\nb = p{a} | q\nc = {b} {@b}") ==
        "[grammar] rule c must use plain words around @, got {@b}.");
}

TEST_CASE("a grammar that could be ambiguous is refused") {
  const std::string hint = " Hint: move what they share to the rule that uses this one.";
  CHECK(error_in("a = an | and") ==
        "[grammar] rule a must have alternatives that differ in their first words, got 'an' and 'and'." +
            hint);
  CHECK(error_in("a = x | x").find("got 'x' and 'x'") != std::string::npos);
  CHECK(error_in("a = x | y\nb = {a} p | q").find("rule b must have alternatives that differ") !=
        std::string::npos);
  CHECK(error_in("a = an | and\nb = {a} x").find("rule a must have alternatives that differ") !=
        std::string::npos);
  // Words that only ever follow another choice are no choice themselves.
  CHECK(error_in("a = x | y\nb = she | she\nc = {a} {b@a}") == "no error");
}

TEST_CASE("nothing is said again before it has been drawn on every way there") {
  CHECK(error_in("a = x | y\nb = p {@a}") ==
        "[grammar] the last rule, b, must draw a before it says it again.");
  CHECK(error_in("a = x | y\nb = p {a} | q\nc = {b} {@a}") ==
        "[grammar] the last rule, c, must draw a before it says it again.");
  CHECK(error_in("a = x | y\nb = p {a} | q {a}\nc = {b} {@a}") == "no error");
  CHECK(error_in("a = x | y\nb = p {@a}\nc = {a} {b}") == "no error");
  CHECK(error_in("a = x | y\nb = p {@a}\nc = {b} {a}") ==
        "[grammar] the last rule, c, must draw a before it says it again.");
}

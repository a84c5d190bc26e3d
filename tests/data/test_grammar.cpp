#include "catch.hpp"
#include "gradus/data/grammar.hpp"
#include "grammar_oracle.hpp"
#include "support.hpp"

namespace test_grammar {

using gradus::Generator;
using gradus::data::Grammar;

const std::string kRules = R"(
hero  = Anna | 3:Ben
he    = she | he
place = home | to the sea
tail  = . | , twice.
story = {hero} ran, {he@hero} fell{tail} {place} {hero} {he@hero} {@place}!
chain = 2:Once {hero} and {hero} met {@hero}.\n
      | So {story}
)";

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
}

TEST_CASE("a rule uses rules above it only") {
  const auto error_in = [](const std::string& rules) { return error_of([&] { Grammar grammar(rules); }); };
  CHECK(error_in("a = x {b}\nb = y") == "[grammar] a rule must use only rules above it, got 'b'.");
  CHECK(error_in("a = x {a}") == "[grammar] a rule must use only rules above it, got 'a'.");
}

}  // namespace test_grammar

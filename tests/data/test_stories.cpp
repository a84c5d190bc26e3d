#include "catch.hpp"
#include "gradus/data/stories.hpp"
#include "gradus/files/hashes.hpp"
#include "grammar_oracle.hpp"
#include "support.hpp"

namespace test_stories {

using namespace gradus::data;

std::vector<std::string> split_stories(const std::string& text) {
  std::vector<std::string> stories;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\n\n", at) + 2;
    stories.push_back(text.substr(at, end - at));
    at = end;
  }
  return stories;
}

TEST_CASE("stories are the same for the same seed, whole, and of the size asked for") {
  const std::string text = write_stories(5, 10000);
  CHECK(text == write_stories(5, 10000));
  CHECK(text != write_stories(6, 10000));
  CHECK(text.size() >= 10000);
  CHECK(text.size() < 12000);
  CHECK(text.substr(text.size() - 2) == "\n\n");
  CHECK(write_stories(5, 20000).starts_with(text));
  CHECK(write_stories(5, 0).empty());
  CHECK(gradus::files::sha256(write_stories()) ==
        "3d4f0a1bd65fab68fe122e94217653d8645d286d4a686e184be4c06bc6e27e61");
}

TEST_CASE("stories are plain ASCII, in sentences, and differ") {
  const std::string text = write_stories();
  CHECK(text.size() >= 1'000'000);
  CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  CHECK(text.find_first_of("{}@|\\") == text.npos);
  CHECK(text.find("  ") == text.npos);
  std::vector<std::string> stories = split_stories(text);
  const size_t count = stories.size();
  std::sort(stories.begin(), stories.end());
  CHECK(std::unique(stories.begin(), stories.end()) == stories.begin() + static_cast<int64_t>(count));
}

TEST_CASE("articles fit the words after them") {
  const std::string text = write_stories(2, 300'000);
  for (const std::string wrong : {" a a", " a e", " a i", " a o", " A a", " A e", " A i", " A o"}) {
    INFO(wrong);
    CHECK(text.find(wrong) == text.npos);
  }
}

TEST_CASE("the stated entropy is that of the grammar") {
  const auto [nats, bytes] = GrammarOracle{std::string(stories_rules())}.measure();
  CHECK(kStoriesEntropy == Catch::Approx(nats / bytes).epsilon(1e-14));
}

TEST_CASE("each story has exactly one derivation, and -log p comes to the entropy that the grammar states") {
  const GrammarOracle oracle{std::string(stories_rules())};
  const std::string text = write_stories(11, 250'000);
  const double entropy = kStoriesEntropy;
  double sum = 0, squares = 0;
  for (const std::string& story : split_stories(text)) {
    const auto found =
        oracle.derivations([&](const std::string& beginning) { return story.starts_with(beginning); });
    INFO(story);
    // No shorter text of the grammar begins it either: a sequence of stories splits in one way.
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].text == story);
    const double excess = found[0].nats - entropy * static_cast<double>(story.size());
    sum += excess;
    squares += excess * excess;
  }
  // The excesses of the stories are independent with mean 0 if, and only if, the stated entropy is right.
  const double size = static_cast<double>(text.size());
  const double standard_error = std::sqrt(squares) / size;
  CHECK(std::abs(sum / size) < 3 * standard_error);
  CHECK(standard_error < 0.02 * entropy);
}

}  // namespace test_stories

#include "gradus/data/stop_strings.hpp"

#include "catch.hpp"
#include "support.hpp"

namespace test_stop_strings {

using gradus::data::StopStrings;
using Strings = std::vector<std::string>;

/// By the definition: the shortest beginning of the text that ends with one of them, without the longest.
std::string text_before(const std::string& text, const Strings& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops)
      if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

std::string in_pieces(const std::string& text, const Strings& stops, std::mt19937& random) {
  StopStrings stream(stops);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = random() % 4;
    out += stream.step(text.substr(at, length));
    CHECK(text_before(text, stops).starts_with(out));
    at += length;
  }
  return out + stream.finish();
}

TEST_CASE("a text ends before the string that is whole first, however it comes") {
  std::mt19937 random(5);
  const auto word = [&](size_t least, size_t most) {
    std::string text(least + random() % (most - least + 1), 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 2);
    return text;
  };
  int cut = 0;
  for (int i = 0; i < 2000; ++i) {
    Strings stops(random() % 4);
    for (std::string& stop : stops) stop = word(1, 7);
    const std::string text = word(0, 30), wanted = text_before(text, stops);
    INFO(text);
    CHECK(in_pieces(text, stops, random) == wanted);
    cut += wanted != text ? 1 : 0;
  }
  CHECK(cut > 500);
  CHECK(cut < 1900);
}

TEST_CASE("of a string to stop at nothing is returned, and nothing after it") {
  StopStrings stream({"\n\n", "END"});
  CHECK(stream.step("one\n") == "one");
  CHECK(stream.step("two E") == "\ntwo ");
  CHECK(stream.step("N") == "");
  CHECK_FALSE(stream.found());
  CHECK(stream.step("Dmore") == "");
  CHECK(stream.found());
  CHECK(stream.step("and more") == "");
  CHECK(stream.finish() == "");
}

TEST_CASE("what may have begun a string comes at the end, if it did not") {
  StopStrings stream({"END"});
  CHECK(stream.step("the EN") == "the ");
  CHECK(stream.finish() == "EN");
  CHECK_FALSE(stream.found());
}

TEST_CASE("an empty string to stop at is refused") {
  CHECK_THROWS_WITH(StopStrings({"a", ""}), "[stop] a string to stop at must not be empty, got ''.");
}

}  // namespace test_stop_strings

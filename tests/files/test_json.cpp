#include "gradus/files/json.hpp"

#include "autograd/compare.hpp"

namespace gradus::test_json {

using namespace gradus::files;
using namespace testing;

std::string refusal(const std::string& text) {
  return error_of([&] { Json(text, "op", "f"); });
}

/// The error of a text that is not JSON: "'x' at line 1, column 2: invalid literal."
std::string got(const std::string& text) {
  const std::string error = refusal(text), start = "[op] f must be JSON, got ";
  return error.starts_with(start) ? error.substr(start.size()) : error;
}

/// As JSON again, from what the fields say.
std::string written(const Field& field) {
  std::string text;
  if (field.is_list()) {
    for (const Field& item : field.items()) text += (text.empty() ? "" : ",") + written(item);
    return "[" + text + "]";
  }
  if (field.is_object()) {
    for (const auto& [key, value] : field.members())
      text += (text.empty() ? "" : ",") + json_text(key) + ":" + written(value);
    return "{" + text + "}";
  }
  return field.is_text() ? json_text(field.text()) : field.shown();
}

std::string rewritten(const std::string& text) { return written(Json(text, "op", "f").root()); }

TEST_CASE("values come as they were written") {
  for (const char* text : {"null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808",
                           "18446744073709551615", "0.1", "-2.5e-08", "1e+300", "\"\"", "\"a b\"", "[]", "{}",
                           "[[],{},[0,[1]]]", R"({"a":{"b":[1,2,{"c":null}]},"":"x","d":[]})"})
    CHECK(rewritten(text) == text);
  CHECK(rewritten(" \t\r\n[ 1 , { \"a\" : 2 } ] \n") == R"([1,{"a":2}])");
  CHECK(rewritten(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00\u0000")") ==
        "\"\\\"\\\\/\\u0008\\u000c\\u000a\\u000d\\u0009A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\\u0000\"");
}

TEST_CASE("numbers keep every digit that their kind can hold") {
  const Json json("[5e-324, 1.7976931348623157e308, 0.1, -0.0, 3, 18446744073709551616, 1E2]", "op", "f");
  const std::vector<Field> items = json.root().items();
  CHECK(items[0].number() == 5e-324);
  CHECK(items[1].number() == 1.7976931348623157e308);
  CHECK(items[2].number() == 0.1);
  CHECK(std::signbit(items[3].number()));
  CHECK(items[4].number() == 3.0);
  CHECK(items[5].number() == 0x1p64);
  CHECK_FALSE(items[5].is_integer());
  CHECK(items[6].number() == 100.0);
}

TEST_CASE("what is not JSON is refused with its place") {
  const std::string value = "; expected '[', '{', or a literal.";
  CHECK(got("") == "the end at line 1, column 1: unexpected end of input" + value);
  CHECK(got("x") == "'x' at line 1, column 1: invalid literal.");
  CHECK(got("tru") == "the end at line 1, column 4: invalid literal.");
  CHECK(got("[1,]") == "']' at line 1, column 4: unexpected ']'" + value);
  CHECK(got("[1 2]") == "'2' at line 1, column 4: unexpected number literal; expected ']'.");
  CHECK(got("[1") == "the end at line 1, column 3: unexpected end of input; expected ']'.");
  CHECK(got("{1:2}") == "'1' at line 1, column 2: unexpected number literal; expected string literal.");
  CHECK(got("{\"a\":1,}") == "'}' at line 1, column 8: unexpected '}'; expected string literal.");
  CHECK(got("{\"a\" 1}") == "'1' at line 1, column 6: unexpected number literal; expected ':'.");
  CHECK(got("{\"a\":1\n\n ]") == "']' at line 3, column 2: unexpected ']'; expected '}'.");
  CHECK(got("{} x") == "'x' at line 1, column 4: invalid literal.");
  CHECK(got("{} 1") == "'1' at line 1, column 4: unexpected number literal; expected end of input.");
  for (const size_t at : {size_t{0}, size_t{1}, size_t{2}, size_t{3}}) {
    std::string zero = "{ }";
    zero.insert(at, 1, '\0');
    CHECK(got(zero) == concat("'\\x00' at line 1, column ", at + 1, ": a zero byte is no part of JSON."));
  }
  CHECK(got("\"\x1b\"").starts_with("'\\x1b' at line 1, column 2: invalid string: control character"));
  CHECK(got("\"\xff\"") == "'\\xff' at line 1, column 2: invalid string: ill-formed UTF-8 byte.");
  CHECK(got("\"\xed\xa0\x80\"").ends_with("invalid string: ill-formed UTF-8 byte."));
  CHECK(got("\"\xc3\xa9\xe2\"") == "'\"' at line 1, column 5: invalid string: ill-formed UTF-8 byte.");
  CHECK(got("\"a") == "the end at line 1, column 3: invalid string: missing closing quote.");
  CHECK(got(R"("\x")") == "'x' at line 1, column 3: invalid string: forbidden character after backslash.");
  CHECK(got(R"("\u00g0")") ==
        "'g' at line 1, column 6: invalid string: '\\u' must be followed by 4 hex digits.");
  for (const char* text :
       {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\n")", R"("\ud800\ud800")"})
    CHECK_HAS(got(text), "surrogate");
  for (const char* text : {"01", "-", "+1", ".5", "1.", "1.e3", "1e", "1e+", "0x10", "-01", "NaN", "Infinity",
                           "nul", "'a'", "//", "[1]]", "{}{}", "\xEF\xBB\xBF{}"})
    CHECK(refusal(text).starts_with("[op] f must be JSON, got "));
  CHECK(got("\xEF\xBB\xBF{}") == "a byte order mark. Hint: save it without.");
  CHECK(got("version https://git-lfs.github.com/spec/v1\n") ==
        "a pointer of Git LFS. Hint: git lfs pull fetches the file.");
  CHECK(got("[1e999]") == "'9' at line 1, column 6: number overflow parsing '1e999'.");
  CHECK(got("[" + std::string(1'000'000, '9') + "]").size() < 400);
  for (const char* small : {"1e-999", "-0.1e-400", "100E-999"})
    CHECK(refusal(small) == concat("[op] f must have numbers that a float64 can hold, got ", small, "."));
  CHECK(Json("0.00e-999", "op", "f").root().number() == 0);
}

TEST_CASE("equal keys of one object are refused, also those written in two ways") {
  const std::string twice = "[op] f must have different keys in an object, got 'a' twice.";
  CHECK(refusal(R"({"a":1,"b":2,"a":3})") == twice);
  CHECK(refusal(R"([{"x":{"a":[{"a":1}],"\u0061":{}}}])") == twice);
  CHECK(refusal(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]})") == "");
}

TEST_CASE("depth is counted, and no depth overflows a stack") {
  const auto nested = [](size_t depth, const std::string& open, const std::string& close) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) text += open;
    text += "1";
    for (size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  CHECK(refusal(nested(Json::kDeepest, "[", "]")) == "");
  CHECK(refusal(nested(Json::kDeepest, "{\"a\":", "}")) == "");
  const std::string too_deep = "[op] f must have at most 64 lists and objects inside one another, got more.";
  for (const size_t depth : {Json::kDeepest + 1, size_t{1'000'000}}) {
    CHECK(refusal(nested(depth, "[", "]")) == too_deep);
    CHECK(refusal(nested(depth, "{\"a\":", "}")) == too_deep);
  }
}

TEST_CASE("fields are asked for by kind, and errors say where they are") {
  const Json json(
      R"({"a": [1, {"b c": "x", "n": -5, "big": 18446744073709551615, "f": 2.5, "t": true, "z": null}]})",
      "op", "f");
  const Field a = json.root().at("a"), inner = a.items()[1];
  CHECK(inner.at("b c").text() == "x");
  CHECK(inner.at("n").integer() == -5);
  CHECK(inner.at("big").unsigned_integer() == 18446744073709551615U);
  CHECK(inner.at("f").number() == 2.5);
  CHECK(inner.at("t").flag());
  CHECK(inner.at("z").is_null());
  CHECK(inner.has("n"));
  CHECK_FALSE(inner.has("m"));
  CHECK(a.size() == 2);

  CHECK_THROWS_WITH(json.root().integer(), "[op] f must be a whole number of 64 bits, got an object of 1.");
  CHECK_THROWS_WITH(a.text(), "[op] f: a must be a string, got a list of 2.");
  CHECK_THROWS_WITH(a.items()[0].flag(), "[op] f: a[0] must be true or false, got 1.");
  CHECK_THROWS_WITH(inner.at("b c").number(), "[op] f: a[1], 'b c' must be a number, got 'x'.");
  CHECK_THROWS_WITH(inner.at("n").unsigned_integer(),
                    "[op] f: a[1], n must be a whole number of at least 0, got -5.");
  CHECK_THROWS_WITH(inner.at("n").integer(0),
                    "[op] f: a[1], n must be a whole number of at least 0, got -5.");
  CHECK_THROWS_WITH(inner.at("n").integer(0, 9),
                    "[op] f: a[1], n must be a whole number from 0 to 9, got -5.");
  CHECK_THROWS_WITH(inner.at("big").integer(),
                    "[op] f: a[1], big must be a whole number of 64 bits, got 18446744073709551615.");
  CHECK_THROWS_WITH(inner.at("f").integer(), "[op] f: a[1], f must be a whole number of 64 bits, got 2.5.");
  CHECK_THROWS_WITH(inner.at("z").items(), "[op] f: a[1], z must be a list, got null.");
  CHECK_THROWS_WITH(inner.at("t").members(), "[op] f: a[1], t must be an object, got true.");
  CHECK_THROWS_WITH(a.at("x"), "[op] f: a must be an object, got a list of 2.");
  CHECK_THROWS_WITH(inner.at("x"), "[op] f: a[1] must have a field 'x'.");
  CHECK_THROWS_WITH(inner.must_have_only({"n", "f"}),
                    "[op] f: a[1] must have no field 'b c'. Hint: it may have n, f.");
  CHECK_THROWS_WITH(a.texts(), "[op] f: a[0] must be a string, got 1.");
}

TEST_CASE("errors show a value short, on one line, and without what a terminal obeys") {
  const Json json(
      R"(["\u001b]0;x\u0007", "a\nb", "\u202eabc", {"k\u001b[2J": 1}, ")" + std::string(1000, 'y') + "\"]",
      "op", "f\x1b");
  const std::vector<Field> items = json.root().items();
  CHECK_THROWS_WITH(items[0].flag(), "[op] f\\x1b: [0] must be true or false, got '\\x1b]0;x\\x07'.");
  CHECK(items[1].shown() == "'a\\nb'");
  CHECK(items[2].shown() == "'\\u202eabc'");
  CHECK_THROWS_WITH(items[3].members()[0].second.text(),
                    "[op] f\\x1b: [3], 'k\\x1b[2J' must be a string, got 1.");
  CHECK(items[4].shown() == "'" + std::string(60, 'y') + "...'");
}

}  // namespace gradus::test_json

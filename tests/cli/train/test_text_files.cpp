// Texts as editors save them: marks and line ends that nobody sees, bytes that are no text.
#include "cli/program.hpp"

namespace gradus::cli::test_text_files {

const std::string kMark = "\xEF\xBB\xBF";

/// As an editor on Windows saves it.
std::string with_marks(const std::string& text) {
  std::string marked = kMark;
  for (const char c : text) marked += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return marked;
}

struct Place {
  Scratch scratch;
  std::string plain = scratch.text("plain.txt");
  std::string marked = scratch.file("marked.txt", with_marks(train::small_text()));

  Outcome train(const std::string& text, const std::string& out,
                const std::vector<std::string>& more = {}) const {
    return call("train --preset tiny --steps 3 --text", text, "--out", scratch.path(out), more);
  }
  std::string file(const std::string& name) const { return read(scratch.path(name)); }
};

TEST_CASE("a byte order mark and CR LF change nothing of what is learnt, but for a note") {
  const Place place;
  const Outcome plain = place.train(place.plain, "plain"), marked = place.train(place.marked, "marked");
  REQUIRE(plain.code == 0);
  REQUIRE(marked.code == 0);
  for (const char* file : {"/vocab.json", "/model.safetensors", "/last/model.safetensors"})
    CHECK(place.file("plain" + std::string(file)) == place.file("marked" + std::string(file)));
  CHECK(plain.err.find("read as LF") == std::string::npos);
  CHECK_HAS(marked.err, "note: a byte order mark was left out, and 60 line ends with CR were read as LF\n");
  CHECK(plain.out == marked.out);

  // Whoever reads a text later reads it the same way.
  const auto eval = [&](const std::string& text) {
    return call("eval", place.scratch.path("plain"), "--text", text, "--json");
  };
  CHECK(eval(place.marked).out == eval(place.plain).out);
  CHECK(eval(place.marked).code == 0);
  CHECK_HAS(call("eval", place.scratch.path("plain"), "--text", place.marked).err,
            "note: a byte order mark was left out");
  const auto sample = [&](const std::string& prompt, const std::string& input) {
    const Outcome outcome = run_program(
        args("sample", place.scratch.path("marked"), "--tokens 9 --prompt", prompt), {.stdin_text = input});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  CHECK(sample("-", kMark + "verse\r\nthe \r\n") == sample("verse\nthe ", ""));
  CHECK(sample("verse\r\nthe ", "") == sample("verse\nthe ", ""));
  CHECK(call("gradcheck --model", place.scratch.path("marked"), "--order 1").code == 0);
}

TEST_CASE("a run on a text with marks resumes with the same bits, and knows the text by its bytes") {
  const Place place;
  REQUIRE(place.train(place.marked, "whole", {"--quiet"}).code == 0);
  REQUIRE(place.train(place.marked, "parts", args("--quiet --stop-after 2")).code == 0);
  const std::vector<std::string> resume =
      args("train --out", place.scratch.path("parts"), "--resume --quiet");
  const std::string saved = read(place.marked);
  place.scratch.text("marked.txt");
  check_refused(resume, {"the text of a resumed run must not change"});
  place.scratch.file("marked.txt", saved);
  must(resume);
  CHECK(place.file("whole/last/model.safetensors") == place.file("parts/last/model.safetensors"));
}

TEST_CASE("the byte tokenizer keeps marks and line ends") {
  const Place place;
  const Outcome marked = place.train(place.marked, "marked", args("--tokenizer byte"));
  REQUIRE(marked.code == 0);
  CHECK(marked.err.find("read as LF") == std::string::npos);
  REQUIRE(place.train(place.plain, "plain", args("--tokenizer byte")).code == 0);
  CHECK(place.file("plain/model.safetensors") != place.file("marked/model.safetensors"));
  CHECK(call("sample", place.scratch.path("marked"), "--tokens 1 --prompt", std::string("a\r\nb"))
            .out.starts_with("a\r\nb"));
}

TEST_CASE("a text that is not UTF-8 is named, with the place of the first bad byte") {
  const Place place;
  const std::string latin1 = place.scratch.file("latin1.txt", "good\ncaf\xE9 au lait\n");
  const std::vector<std::string> words{
      "latin1.txt\" must be UTF-8, got byte 0xe9 at byte offset 8, on line 2"};
  check_refused(args("train --text", place.marked, latin1, "--out", place.scratch.path("run")), words);
  REQUIRE(place.train(place.plain, "plain", {"--quiet"}).code == 0);
  check_refused({"eval", place.scratch.path("plain"), "--text", latin1}, words);
  check_refused(args("sample", place.scratch.path("plain"), "--prompt caf\xE9"),
                {"--prompt must be UTF-8, got byte 0xe9 at byte offset 3"});
}

}  // namespace gradus::cli::test_text_files

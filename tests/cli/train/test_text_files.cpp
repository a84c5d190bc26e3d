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
};

TEST_CASE("a byte order mark and CR LF change nothing of what is learnt, but for a note") {
  const Place place;
  const Outcome plain = place.train(place.plain, "plain"), marked = place.train(place.marked, "marked");
  REQUIRE(plain.code == 0);
  REQUIRE(marked.code == 0);
  check_same(place.scratch.path("plain"), place.scratch.path("marked"),
             {"vocab.json", "model.safetensors", "last/model.safetensors"});
  CHECK(plain.err.find("read as LF") == std::string::npos);
  CHECK_HAS(marked.err, "note: 1 byte order marks were left out; 60 line ends with CR were read as LF\n");
  CHECK(plain.out == marked.out);

  // Whoever reads a text later reads it the same way.
  const auto eval = [&](const std::string& text) {
    return call("eval", place.scratch.path("plain"), "--text", text, "--json");
  };
  CHECK(eval(place.marked).out == eval(place.plain).out);
  CHECK(eval(place.marked).code == 0);
  CHECK_HAS(call("eval", place.scratch.path("plain"), "--text", place.marked).err,
            "note: 1 byte order marks were left out");
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
  check_same(place.scratch.path("whole"), place.scratch.path("parts"), {"last/model.safetensors"});
}

}  // namespace gradus::cli::test_text_files

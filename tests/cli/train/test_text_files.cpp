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
    return must("train --preset tiny --steps 3 --text", text, "--out", scratch.path(out), more);
  }
};

TEST_CASE("a byte order mark and CR LF change nothing of what is learnt, but for a note") {
  const Place place;
  const Outcome plain = place.train(place.plain, "plain"), marked = place.train(place.marked, "marked");
  check_same(place.scratch.path("plain"), place.scratch.path("marked"),
             {"vocab.json", "model.safetensors", "last/model.safetensors"});
  CHECK(plain.err.find("read as LF") == std::string::npos);
  CHECK_HAS(marked.err, "note: 1 byte order marks were left out; 60 line ends with CR were read as LF\n");
  CHECK(plain.out == marked.out);

  // Whoever reads a text later reads it the same way.
  const auto eval = [&](const std::string& text) {
    return must("eval", place.scratch.path("plain"), "--text", text, "--json");
  };
  CHECK(eval(place.marked).out == eval(place.plain).out);
  CHECK_HAS(call("eval", place.scratch.path("plain"), "--text", place.marked).err,
            "note: 1 byte order marks were left out");
  const auto sample = [&](const std::string& prompt, const std::string& input) {
    return must_run(args("sample", place.scratch.path("marked"), "--tokens 9 --prompt", prompt),
                    {.stdin_text = input})
        .out;
  };
  CHECK(sample("-", kMark + "verse\r\nthe \r\n") == sample("verse\nthe ", ""));
  CHECK(sample("verse\r\nthe ", "") == sample("verse\nthe ", ""));
  must("gradcheck --model", place.scratch.path("marked"), "--order 1");
}

TEST_CASE("a run on a text with marks resumes with the same bits, and knows the text by its bytes") {
  const Place place;
  place.train(place.marked, "whole", {"--quiet"});
  place.train(place.marked, "parts", args("--quiet --stop-after 2"));
  const std::vector<std::string> resume =
      args("train --out", place.scratch.path("parts"), "--resume --quiet");
  const std::string saved = read(place.marked);
  place.scratch.text("marked.txt");
  check_refused(resume, {"the text of a resumed run must not change"});
  place.scratch.file("marked.txt", saved);
  must(resume);
  check_same(place.scratch.path("whole"), place.scratch.path("parts"), {"last/model.safetensors"});
}

TEST_CASE("with a validation text of its own, a run trains on all of its text") {
  const Place place;
  std::string other;
  for (int i = 0; i < 20; ++i) other += "a ~ that no other text has\n";
  const std::string val = place.scratch.file("val.txt", other);
  const auto trained = [&](const std::string& out, const std::vector<std::string>& more,
                           const std::string& file = "model.safetensors") {
    place.train(place.plain, out, args("--quiet --val-text", val, more));
    return read(place.scratch.path(out + "/" + file));
  };
  must("tokenizer train --vocab 300", place.plain, "--out", place.scratch.path("tok"), "--quiet");
  CHECK(trained("bpe", args("--tokenizer bpe --vocab 300"), "merges.txt") ==
        read(place.scratch.path("tok/merges.txt")));
  CHECK_HAS(trained("char", args("--tokenizer char"), "vocab.json"), "~", "a");
  const std::vector<std::string> two = args("--tokenizer byte --text-weights 1");
  const auto weighed = [&](const std::string& out, const char* weight) {
    return trained(out, args("--text", place.marked, two, std::string(weight)));
  };
  CHECK(weighed("equal", "1") != weighed("rare", "0.01"));

  // The mean of the weights is saved with evaluations and without.
  const std::string mean = trained("mean", args("--tokenizer byte --ema 0.5 --eval-every 3"));
  place.train(place.plain, "none", args("--quiet --tokenizer byte --ema 0.5 --val-fraction 0"));
  CHECK(read(place.scratch.path("none/model.safetensors")) == mean);
  CHECK(read(place.scratch.path("none/last/model.safetensors")) != mean);
}

}  // namespace gradus::cli::test_text_files

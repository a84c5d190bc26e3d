// gradus tokenizer, and what a run with byte pairs leaves and takes.
#include <nlohmann/json.hpp>

#include "gradus/data/tokenizer.hpp"
#include "program.hpp"

namespace gradus::cli::test_tokenizer_verb {

using nlohmann::json;

struct Place {
  Scratch scratch;
  std::string text = scratch.text();
  std::string folder = scratch.path("tok");

  /// What the verb prints, which must be done.
  static std::string out(const std::vector<std::string>& arguments, const std::string& input = "") {
    return must_run(arguments, {.stdin_text = input}).out;
  }
  void learn(const std::string& vocab = "300") const {
    must("tokenizer train", text, "--out", folder, "--vocab", vocab, "--quiet");
  }
  std::string train(const std::string& name, const std::vector<std::string>& more) const {
    must("train --text", text, "--preset tiny --steps 4 --quiet --out", scratch.path(name), more);
    return scratch.path(name);
  }
};

TEST_CASE("a tokenizer is learnt, and takes texts there and back", "[needs.formats]") {
  const Place place;
  const Outcome learnt = must("tokenizer train", place.text, "--out", place.folder, "--vocab 300");
  CHECK(learnt.out.empty());
  CHECK_HAS(learnt.err, "learnt  300 tokens from ");
  for (const char* file :
       {"vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json", "checksums.sfv"})
    CHECK(std::filesystem::is_regular_file(place.folder + "/" + file));
  CHECK(contents(place.folder).size() == 5);

  const std::string ids = Place::out(args("tokenizer encode", place.folder, place.text));
  CHECK(lines_of(ids).size() == 1);
  CHECK(Place::out(args("tokenizer decode", place.folder), ids) == read(place.text));
  CHECK(Place::out(args("tokenizer decode", place.folder, place.scratch.file("ids", ids))) ==
        read(place.text));
  CHECK(Place::out(args("tokenizer encode", place.folder), read(place.text)) == ids);
  CHECK(Place::out(args("tokenizer encode", place.folder + "/tokenizer.json", "-"), read(place.text)) == ids);
  const std::string empty = place.scratch.file("empty", "");
  CHECK(Place::out(args("tokenizer encode", place.folder, place.text, empty, place.text)) ==
        ids + "\n" + ids);

  const data::Tokenizer tokenizer = data::load_tokenizer(place.folder);
  std::string expected;
  for (const int32_t token : tokenizer.encode(read(place.text)))
    expected += (expected.empty() ? "" : " ") + std::to_string(token);
  CHECK(ids == expected + "\n");
}

TEST_CASE("with --json lists go in and come out") {
  const Place place;
  place.learn();
  const json texts{"the verse", "", "\xE2\x82\xAC\n\"", "<|endoftext|>"};
  const std::string ids = Place::out(args("tokenizer encode", place.folder, "--json"), texts.dump());
  CHECK(json::parse(ids).size() == 4);
  CHECK(json::parse(ids).at(1).empty());
  CHECK(json::parse(Place::out(args("tokenizer decode", place.folder, "--json"), ids)) == texts);
  CHECK(json::parse(ids).at(3).size() > 1);
  CHECK(Place::out(args("tokenizer encode", place.folder, "--json --specials"), R"(["<|endoftext|>"])") ==
        "[[299]]\n");
  CHECK(Place::out(args("tokenizer decode", place.folder, "--json"), "[[188]]") == "[\"\\u0000\"]\n");
  CHECK(Place::out(args("tokenizer decode", place.folder, "--json"), "[[187]]") == "[\"\xEF\xBF\xBD\"]\n");
  CHECK(Place::out(args("tokenizer encode", place.folder, "--json"), "[]") == "[]\n");

  const auto refused = [&](const std::string& verb, const std::string& input, const std::string& words) {
    check_refused({"tokenizer", verb, place.folder, "--json"}, {words}, {.stdin_text = input});
  };
  refused("encode", "", "the standard input must be JSON, got the end");
  refused("encode", "[1]", "[0] must be a string, got 1.");
  refused("encode", "{}", "must be a list, got an object of 0.");
  refused("decode", "[[0.5]]", "[0][0] must be a whole number");
  refused("decode", "[[300]]", "tokens must be in [0, 300), got 300.");
}

TEST_CASE("info tells what a tokenizer is") {
  const Place place;
  place.learn();
  CHECK_HAS(Place::out(args("tokenizer info", place.folder, "--text", place.text)),
            "kind        bpe\ntokens      300\nspecial     '<|endoftext|>' (299)\nbefore  "
            "    none\nend         '<|endoftext|>' (299)\nlongest     ",
            " bytes a token\n");
  const json info =
      json::parse(Place::out(args("tokenizer info", place.folder, "--text", place.text, "--json")));
  CHECK(info.at("kind") == "bpe");
  CHECK(info.at("vocab_size") == 300);
  CHECK(info.at("special") == json::parse(R"([{"id": 299, "text": "<|endoftext|>"}])"));
  CHECK(info.at("longest").size() == 5);
  CHECK(info.at("bytes") == read(place.text).size());
  CHECK(info.at("bytes_per_token").get<double>() ==
        Approx(info.at("bytes").get<double>() / info.at("tokens").get<double>()).epsilon(1e-4));
  const nlohmann::json twice = nlohmann::json::parse(
      Place::out(args("tokenizer info", place.folder, "--text", place.text, place.text, "--json")));
  CHECK(twice.at("bytes") == 2 * read(place.text).size());
  CHECK(twice.at("tokens") == 2 * info.at("tokens").get<int64_t>());
}

TEST_CASE("what is asked of a tokenizer in vain is told in a line") {
  const Place place;
  place.learn();
  check_refused({"tokenizer"}, {"[tokenizer] there must be train, encode, decode or info, got none."});
  check_refused(args("tokenizer enocde"), {"got 'enocde'. Hint: did you mean encode?"});
  check_refused(args("tokenizer encode"), {"[tokenizer encode] there must be a FROM, got none."});
  check_refused(args("tokenizer encode", place.folder, "--jsn"),
                {"did you mean --json? gradus tokenizer encode --help"});
  check_refused(args("tokenizer encode", place.scratch.path("none")),
                {"must be a folder or a tokenizer.json"});
  check_refused(args("tokenizer encode", place.folder, place.scratch.path("none")),
                {"must be readable, got", "none"});
  check_refused(args("tokenizer encode", place.folder, place.text, "--json"),
                {"--json takes the standard input"});
  check_refused(args("tokenizer decode", place.folder),
                {"token numbers only, got 'x' as the one after 1 others"}, {.stdin_text = "1 x"});
  check_refused(args("tokenizer decode", place.folder), {"got '99999999999'"}, {.stdin_text = "99999999999"});
  check_refused(args("tokenizer train", place.text, "--out", place.folder, "--vocab 300"),
                {"--out must be a folder without a tokenizer", "--overwrite replaces it"});
  check_refused(args("tokenizer train", place.text, "--out", place.text, "--vocab 300"),
                {"--out must be a folder, got a file"});
  std::filesystem::rename(place.folder + "/checksums.sfv", place.folder + "/checksums.sfv.tmp");  // by a kill
  place.learn();
  const std::string bad = place.scratch.file("bad.jsonl", "{bad}\n");
  check_refused(args("tokenizer train", bad, "--out", place.scratch.path("new"), "--vocab 300"),
                {"[examples] " + bad + ":1 must be JSON"});
  check_refused(args("tokenizer train", place.text, "--out", place.scratch.path("new"), "--vocab 256"),
                {"--vocab must be a whole number of at least 257, got 256."});
  const std::string before = read(place.folder + "/merges.txt");
  must("tokenizer train", place.text, "--out", place.folder, "--vocab 280 --overwrite --quiet");
  CHECK(read(place.folder + "/merges.txt") != before);

  const std::string file = place.folder + "/tokenizer.json";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  check_refused(args("tokenizer info", place.folder), {"tokenizer.json"});
}

TEST_CASE("a run with byte pairs trains, samples, evaluates, and resumes with the same bits") {
  const Place place;
  const std::string whole = place.scratch.path("whole"), run = place.scratch.path("parts");
  check_resumes(
      place.scratch,
      args("train --text", place.text, "--preset tiny --steps 4 --quiet --tokenizer bpe --vocab 280"), "2",
      {"model.safetensors", "last/model.safetensors", "merges.txt", "last/merges.txt", "tokenizer.json",
       "checksums.sfv"});
  CHECK_HAS(read(whole + "/checksums.sfv"), "merges.txt");

  CHECK_HAS(Place::out({"info", run}), "text.txt (tokenizer bpe), preset tiny");
  CHECK_HAS(Place::out({"sample", run, "--prompt", "the ", "--tokens", "5"}), "the ");
  const json eval = json::parse(Place::out({"eval", run, "--text", place.text, "--json"}));
  CHECK(eval.at("bytes").get<int64_t>() > eval.at("tokens").get<int64_t>());
  CHECK(eval.at("bits_per_byte").get<double>() ==
        Approx(eval.at("loss").get<double>() / std::log(2.0) * eval.at("tokens").get<double>() /
               eval.at("bytes").get<double>()));
  check_refused(args("train --out", run, "--resume --vocab 281"), {"--vocab of a resumed run must stay 280"});

  // A run of another kind in its place leaves none of its files.
  must("train --text", place.text, "--preset tiny --steps 2 --quiet --out", run, "--overwrite");
  CHECK_FALSE(std::filesystem::exists(run + "/merges.txt"));
  CHECK_FALSE(std::filesystem::exists(run + "/last/merges.txt"));
}

TEST_CASE("a run says when its text has pairs for fewer tokens than were asked for") {
  const Place place;
  const auto words = [&](const char* vocab) {
    const auto run = call("train --text", place.text, "--preset tiny --steps 1 --tokenizer bpe --vocab",
                          vocab, "--out", place.scratch.path(vocab));
    CHECK(run.code == 0);
    return run.out + run.err;
  };
  CHECK_THAT(words("280"), !ContainsSubstring("fewer than --vocab"));
  CHECK_HAS(words("9000"), " tokens, fewer than --vocab 9000");
}

TEST_CASE("a run takes a tokenizer that is there, of any form, and needs it no more to go on",
          "[needs.formats]") {
  const Place place;
  place.learn();
  const std::string run =
      place.train("run", args("--tokenizer", place.folder + "/tokenizer.json", "--stop-after 2"));
  CHECK(read(run + "/merges.txt") == read(place.folder + "/merges.txt"));
  std::filesystem::remove_all(place.folder);
  must("train --out", run, "--resume --quiet");
  CHECK(json::parse(read(run + "/config.json")).at("vocab_size") == 300);

  // GPT-2's folders may have tokenizer.json alone.
  for (const char* file : {"vocab.json", "merges.txt", "checksums.sfv"})
    std::filesystem::remove(run + "/" + file);
  must("sample", run, "--tokens 3");
}

TEST_CASE("a folder without tokenizer.json opens and goes on") {
  const Place place;
  const std::string run = place.train("run", args("--stop-after 2"));
  for (const std::string& folder : {run, run + "/last"})
    for (const char* file : {"tokenizer.json", "tokenizer_config.json", "checksums.sfv"})
      std::filesystem::remove(folder + "/" + file);
  must("sample", run, "--tokens 3");
  must("train --out", run, "--resume --quiet");
  CHECK(std::filesystem::exists(run + "/tokenizer.json"));
  CHECK(std::filesystem::exists(run + "/last/tokenizer.json"));
}

}  // namespace gradus::cli::test_tokenizer_verb

#include "catch.hpp"
#include "gradus/data/corpus.hpp"
#include "gradus/data/stories.hpp"
#include "gradus/files/hashes.hpp"
#include "support.hpp"
#include "test_files.hpp"

namespace gradus::test_corpus {

using namespace gradus::data;
namespace fs = std::filesystem;

const std::string kInstall = " Hint: apt-get install bible-kjv bible-kjv-text, or use `corpus` stories.";

/// A PATH on which the only `bible` is the given shell script.
void write_bible(const TemporaryFolder& folder, const std::string& script) {
  write_file(folder / "bible", "#!/bin/sh\n" + script);
  fs::permissions(folder / "bible", fs::perms::owner_all);
}

bool bible_is_installed() {
  if (kjv_available()) return true;
  skip("the program `bible` is not installed (apt-get install bible-kjv bible-kjv-text)");
  return false;
}

TEST_CASE("the stories come with their entropy") {
  const Corpus corpus = load_corpus("stories");
  CHECK(corpus.name == "stories");
  CHECK(corpus.text == write_stories());
  CHECK(corpus.sha256 == gradus::files::sha256(corpus.text));
  CHECK(corpus.entropy == kStoriesEntropy);
  CHECK(!corpus.source.empty());
  CHECK(corpus.warning.empty());
}

TEST_CASE("a corpus of another name is refused") {
  CHECK_THROWS_WITH(load_corpus("shakespeare"),
                    "[corpus] the corpus must be kjv or stories, got 'shakespeare'.");
}

TEST_CASE("without the program bible there is no kjv, and the default falls back to stories") {
  const TemporaryFolder empty;
  const Environment path("PATH", empty.path().string());
  const std::string error =
      "[kjv] the program `bible` must be installed and run, got none that does." + kInstall;
  CHECK(!kjv_available());
  CHECK_THROWS_WITH(load_corpus("kjv"), error);
  const Corpus corpus = default_corpus();
  CHECK(corpus.name == "stories");
  CHECK(corpus.warning == "training on stories, because the kjv is not available: " + error.substr(6));
}

TEST_CASE("a program bible that fails or writes another text is refused") {
  const TemporaryFolder programs;
  const Environment path("PATH", programs.path().string());
  write_bible(programs, "exit 1\n");
  CHECK(kjv_available());
  CHECK_ERROR(load_corpus("kjv"), "got none that does");
  write_bible(programs, "echo 'Ge1:1 In the beginning'\n");
  CHECK_THROWS_WITH(
      load_corpus("kjv"),
      "[kjv] `bible` must write the text of 4137850 bytes with sha256 b5c4940bcfee..., got 17 bytes with " +
          files::sha256("In the beginning\n").substr(0, 12) + "...." + kInstall);
}

TEST_CASE("the kjv is the whole text without verse tags") {
  if (!bible_is_installed()) return;
  const Corpus corpus = load_corpus("kjv");
  CHECK(corpus.name == "kjv");
  CHECK(corpus.text.substr(0, corpus.text.find('\n')) ==
        "In the beginning God created the heaven and the earth.");
  CHECK(corpus.text.size() == 4'137'850);
  CHECK(corpus.sha256 == gradus::files::sha256(corpus.text));
  CHECK(std::count(corpus.text.begin(), corpus.text.end(), '\n') == 31'102);
  CHECK(corpus.text.substr(corpus.text.size() - 6) == "Amen.\n");
  const std::set<char> characters(corpus.text.begin(), corpus.text.end());
  const std::string told = "| 4,137,850 bytes, " + std::to_string(characters.size()) + " characters |";
  CHECK_HAS(file_bytes(gradus::testing::test_files().parent_path() / "data/README.md"), told);
  CHECK(!corpus.entropy);
  CHECK(corpus.warning.empty());
  CHECK(default_corpus().name == "kjv");
}

}  // namespace gradus::test_corpus

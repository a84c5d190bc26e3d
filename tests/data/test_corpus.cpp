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

std::string quoted(const fs::path& path) { return "\"" + path.string() + "\""; }

bool bible_is_installed() {
  if (kjv_available("")) return true;
  skip("the program `bible` is not installed (apt-get install bible-kjv bible-kjv-text)");
  return false;
}

TEST_CASE("the cache is where the environment says") {
  const Environment own("GRADUS_CACHE", {}), xdg("XDG_CACHE_HOME", {}), home("HOME", {});
  CHECK(cache_dir().empty());
  const Environment with_home("HOME", "/home/me");
  CHECK(cache_dir() == "/home/me/.cache/gradus");
  const Environment with_relative("XDG_CACHE_HOME", "relative");
  CHECK(cache_dir() == "/home/me/.cache/gradus");
  const Environment with_xdg("XDG_CACHE_HOME", "/xdg");
  CHECK(cache_dir() == "/xdg/gradus");
  const Environment with_own("GRADUS_CACHE", "here");
  CHECK(cache_dir() == "here");
}

TEST_CASE("the stories come with their entropy") {
  const Corpus corpus = load_corpus("stories", "");
  CHECK(corpus.name == "stories");
  CHECK(corpus.text == write_stories());
  CHECK(corpus.sha256 == gradus::files::sha256(corpus.text));
  CHECK(corpus.entropy == kStoriesEntropy);
  CHECK(!corpus.source.empty());
  CHECK(corpus.warning.empty());
}

TEST_CASE("a corpus of another name is refused") {
  CHECK_THROWS_WITH(load_corpus("shakespeare", ""),
                    "[corpus] the corpus must be kjv or stories, got 'shakespeare'.");
}

TEST_CASE("without the program bible there is no kjv, and the default falls back to stories") {
  const TemporaryFolder empty;
  const Environment path("PATH", empty.path().string());
  const std::string error =
      "[kjv] the program `bible` must be installed and run, got none that does." + kInstall;
  CHECK(!kjv_available(empty.path()));
  CHECK_THROWS_WITH(load_corpus("kjv", empty.path()), error);
  const Corpus corpus = default_corpus(empty.path());
  CHECK(corpus.name == "stories");
  CHECK(corpus.warning == "training on stories, because the kjv is not available: " + error);
  CHECK(fs::is_empty(empty.path()));
}

TEST_CASE("a program bible that fails or writes another text is refused, and nothing is cached") {
  const TemporaryFolder programs, cache;
  const Environment path("PATH", programs.path().string());
  write_bible(programs, "exit 1\n");
  CHECK(kjv_available(cache.path()));
  CHECK_ERROR(load_corpus("kjv", cache.path()), "got none that does");
  write_bible(programs, "echo 'Ge1:1 In the beginning'\n");
  CHECK_THROWS_WITH(
      load_corpus("kjv", cache.path()),
      "[kjv] `bible` must write the text of 4137850 bytes with sha256 b5c4940bcfee..., got 17 bytes with " +
          files::sha256("In the beginning\n").substr(0, 12) + "...." + kInstall);
  CHECK(fs::is_empty(cache.path()));
}

TEST_CASE("the kjv is the whole text without verse tags") {
  if (!bible_is_installed()) return;
  const TemporaryFolder cache;
  const Corpus corpus = load_corpus("kjv", cache.path());
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
  CHECK(default_corpus(cache.path()).name == "kjv");
}

TEST_CASE("the kjv is kept in the cache, checked, and made anew if it is damaged") {
  if (!bible_is_installed()) return;
  const TemporaryFolder folder;
  const fs::path cache = folder / "deep/er";
  const std::string text = load_corpus("kjv", cache).text;
  CHECK(file_bytes(cache / "kjv.txt") == text);
  CHECK(file_bytes(cache / "kjv.txt.sha256") == files::sha256(text) + "  kjv.txt\n");
  CHECK(std::distance(fs::directory_iterator(cache), {}) == 2);

  std::string damaged = text;
  damaged[2'000'000] ^= 1;
  const std::string truncated = text.substr(0, 1000);
  for (const std::string& bad : {damaged, truncated}) {
    write_file(cache / "kjv.txt", bad);
    {
      const Environment path("PATH", folder.path().string());
      CHECK(!kjv_available(cache));
      CHECK_THROWS_AS(load_corpus("kjv", cache), gradus::Error);
    }
    CHECK(load_corpus("kjv", cache).text == text);
    CHECK(file_bytes(cache / "kjv.txt") == text);
  }
  const Environment path("PATH", folder.path().string());
  CHECK(kjv_available(cache));
  CHECK(load_corpus("kjv", cache).text == text);

  // No cache is not the current folder.
  const fs::path here = fs::current_path();
  fs::current_path(cache);
  CHECK(!kjv_available(""));
  fs::current_path(here);
}

TEST_CASE("a cache that cannot be written costs a warning only") {
  if (!bible_is_installed()) return;
  const TemporaryFolder folder;
  write_file(folder / "file", "x");
  const Corpus corpus = load_corpus("kjv", folder / "file/cache");
  CHECK(corpus.text.size() == 4'137'850);
  CHECK(corpus.warning ==
        "the kjv could not be kept in the cache " + quoted(folder / "file/cache") + ": Not a directory");
  CHECK(load_corpus("kjv", "").warning ==
        "the kjv could not be kept in the cache \"\": none of GRADUS_CACHE, XDG_CACHE_HOME and HOME is set");
}

}  // namespace gradus::test_corpus

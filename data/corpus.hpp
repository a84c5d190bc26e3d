// Corpora: named texts to train on.
//
// kjv      the King James Version of the Bible, from Debian's packages bible-kjv and bible-kjv-text
// stories  short stories that gradus generates, whose entropy is known exactly (stories.hpp)
//
// Thread-safe. Several processes may share the cache folder, in which files are replaced atomically.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::data {

/// A text with its origin.
struct Corpus {
  std::string name;               ///< as in corpus_names()
  std::string text;               ///< the whole text
  std::string sha256;             ///< of the bytes of the files (text.hpp)
  std::string source;             ///< one line: its origin and licence
  std::optional<double> entropy;  ///< nats per character, if known: no model can have a lower expected loss
  std::string warning;            ///< one line for the user, or ""
};

/// $GRADUS_CACHE, else $XDG_CACHE_HOME/gradus, else $HOME/.cache/gradus; empty if none of the three is set.
std::filesystem::path cache_dir();

/// The names of the corpora: kjv and stories.
std::vector<std::string> corpus_names();

/// The corpus of that name. The kjv is cached in `cache` as kjv.txt, with kjv.txt.sha256 for `sha256sum -c`.
/// A damaged copy is replaced; if the cache cannot be written, there is a warning. Throws Error for another
/// name, or if the kjv is not available.
Corpus load_corpus(std::string_view name, const std::filesystem::path& cache = cache_dir());

/// The kjv if it is available, else the stories, with the reason as the warning.
Corpus default_corpus(const std::filesystem::path& cache = cache_dir());

/// Whether the kjv is available: `cache` has an intact copy, or the program `bible` is on the PATH.
bool kjv_available(const std::filesystem::path& cache = cache_dir());

}  // namespace gradus::data

// Corpora: named texts to train on.
//
// kjv      the King James Version of the Bible, from Debian's packages bible-kjv and bible-kjv-text
// stories  short stories that gradus generates, whose entropy is known exactly (stories.hpp)
//
// Thread-safe: no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::data {

/// A text with its origin.
struct Corpus {
  std::string name;                 ///< as in corpus_names()
  std::string text;                 ///< the whole text
  std::string sha256{};             ///< of the bytes of the files, as sha256sum prints it
  std::string source;               ///< one line: its origin and licence
  std::optional<double> entropy{};  ///< nats per character, if known: no model can have a lower expected loss
  std::string warning{};            ///< one line for the user, or ""
};

/// The names of the corpora: kjv and stories.
std::vector<std::string> corpus_names();

/// The corpus of that name. Throws Error for another name, or if the kjv is not available.
Corpus load_corpus(std::string_view name);

/// The kjv if it is available, else the stories, with the reason as the warning.
Corpus default_corpus();

/// Whether the program `bible`, which writes the kjv, is on the PATH.
bool kjv_available();

}  // namespace gradus::data

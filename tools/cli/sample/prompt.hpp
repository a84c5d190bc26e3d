// A prompt for trying a new model. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>

namespace gradus::cli {

/// A typical beginning of a text: its most frequent word with a capital, else its most frequent word, and the
/// space that follows words in it. All its characters are in the text, so that the vocabulary can encode it;
/// empty if there are no words. Reads the first million bytes; bytes that are not UTF-8 end words.
std::string example_prompt(std::string_view text);

}  // namespace gradus::cli

// A prompt to try a fresh model with. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>

namespace gradus::cli {

/// How a text likes to begin: its most frequent word with a capital, else its most frequent word, and the
/// space that follows words in it. Only of characters in the text, so that its vocabulary can spell it; empty
/// if there are no words. Looks at the first million bytes, of which those that are no UTF-8 end words.
std::string example_prompt(std::string_view text);

}  // namespace gradus::cli

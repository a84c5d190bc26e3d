// Little stories drawn from a probabilistic grammar, so that the best loss any model can reach is known
// exactly.
//
// The hero who opens a story recurs to its end, and what is found in the first lines is given away in the
// last: whoever wants to predict well has to look far back. Plain ASCII, so characters are bytes.
// Thread-safety: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::data {

/// Whole stories, each ending with an empty line, until there are at least `min_bytes` bytes. The same for
/// the same seed.
std::string write_stories(uint64_t seed = 1, size_t min_bytes = 1'000'000);

/// Nats per character of an endless run of stories: the expected information in the choices of one story over
/// its expected length. A model that sees all of the story so far cannot have a lower expected loss.
double stories_entropy();

/// -log p of `text`, whole stories, in nats: what is left to be guessed in this very text. Throws Error at
/// the first byte that the grammar cannot have written.
double stories_nats(std::string_view text);

/// The rules of the stories, in the notation of grammar.hpp.
std::string_view stories_rules();

}  // namespace gradus::data

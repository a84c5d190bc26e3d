// Short stories drawn from a probabilistic grammar, so that the lowest loss that a model can reach is known
// exactly.
//
// The hero at the beginning of a story recurs up to its end, and the thing found in the first lines is given
// away in the last: good predictions need a long context. Plain ASCII, so characters are bytes. Thread-safe:
// no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::data {

/// Whole stories, each ending with an empty line, until there are at least `min_bytes` bytes. The same for
/// the same seed.
std::string write_stories(uint64_t seed = 1, size_t min_bytes = 1'000'000);

/// Nats per character of an endless sequence of stories: the expected information in the choices of one story
/// over its expected length. A model that sees the story from its beginning cannot have a lower expected
/// loss.
double stories_entropy();

/// The rules of the stories, stories.txt, in the notation of grammar.hpp.
std::string_view stories_rules();

}  // namespace gradus::data

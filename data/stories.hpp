// The corpus `stories`: texts that a probabilistic grammar with memory writes, whose entropy is known.
//
// Each line of stories.txt is a rule, which uses only rules above it. The last rule is the whole story:
//
//   hero  = Anna | 3:Ben            alternatives; Ben is three times as probable as Anna
//   he    = she | he
//   story = {hero} sang, and {he@hero} danced, and {@hero} slept.\n
//
//   {rule}        draws an alternative and remembers its number
//   {rule@other}  the alternative of `rule` with the number that was last drawn for `other`
//   {@rule}       the same words again, short for {rule@rule}
//
// A line without = continues the rule above it. Spaces around alternatives are ignored. \n is a line break.
// In {rule@other} both rules have the same number of alternatives, those of `rule` are plain words, and
// `other` must have been drawn before. Within a rule, the leading plain words of one alternative must not be
// a prefix of another's: the text then determines every choice, and its entropy is that of the choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::data {

/// At least `min_bytes` bytes of short stories, each ending with an empty line, in ASCII. The seed determines
/// them. The hero and the thing found in the first lines occur again in the last ones, so good predictions
/// need a long context.
std::string write_stories(uint64_t seed = 1, size_t min_bytes = 1'000'000);

/// Nats per character of an infinite sequence of stories: the entropy of the choices in a story over its
/// expected length. No model that reads a story from its beginning has a lower expected loss.
inline constexpr double kStoriesEntropy = 0.07621119691740215;

/// The rules of the stories, stories.txt.
std::string_view stories_rules();

}  // namespace gradus::data

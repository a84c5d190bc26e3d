// Grammar: a probabilistic grammar with memory, which generates texts and computes their exact entropy; and
// the grammar of the corpus `stories`.
//
// Each line is a rule, which uses only rules above it. The last rule is the whole text:
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
//
// Immutable, so thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/random/random.hpp"

namespace gradus::data {

class Grammar {
 public:
  /// Throws Error if a rule uses a name that is not defined above it.
  explicit Grammar(std::string_view rules);

  /// Generates a text.
  std::string write(Generator& generator) const;
  double entropy() const { return rules_.back().entropy; }      ///< nats per text: the mean of -log p
  double mean_size() const { return rules_.back().mean_size; }  ///< bytes per text

 private:
  /// Plain words (rule < 0), a draw (as_drawn_for < 0), or the words of an earlier draw.
  struct Piece {
    std::string words;
    int rule = -1;
    int as_drawn_for = -1;
  };
  struct Alternative {
    int64_t weight = 1;
    std::vector<Piece> pieces;
  };
  struct Rule {
    std::string name;
    std::vector<Alternative> alternatives;
    int64_t weight = 0;  // of all alternatives
    double entropy = 0;
    double mean_size = 0;
  };

  Alternative parse(std::string_view text) const;
  int find(std::string_view name) const;
  void measure(Rule& rule) const;
  void write(int rule, Generator& generator, std::vector<int>& drawn, std::string& out) const;

  std::vector<Rule> rules_;
};

/// At least `min_bytes` bytes of short stories, each ending with an empty line, in ASCII. The seed determines
/// them. The hero and the thing found in the first lines occur again in the last ones, so good predictions
/// need a long context.
std::string write_stories(uint64_t seed = 1, size_t min_bytes = 1'000'000);

/// Nats per character of an infinite sequence of stories: the entropy of the choices in a story over its
/// expected length. No model that reads a story from its beginning has a lower expected loss.
double stories_entropy();

/// The rules of the stories, stories.txt.
std::string_view stories_rules();

}  // namespace gradus::data

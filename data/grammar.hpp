// Grammar: a probabilistic grammar with a memory, which writes texts and knows their entropy exactly; and the
// grammar of the corpus `stories`.
//
// There is one rule a line, which uses only rules above it. The last rule is the whole text:
//
//   hero  = Anna | 3:Ben            alternatives; Ben is three times as probable as Anna
//   he    = she | he
//   story = {hero} sang, and {he@hero} danced, and {@hero} slept.\n
//
//   {rule}        draws an alternative and remembers its number
//   {rule@other}  the alternative of `rule` with the number that was last drawn for `other`
//   {@rule}       the same words again, short for {rule@rule}
//
// A line without = continues the rule above it. Spaces around alternatives do not count. \n is a line break.
// In {rule@other} both rules have the same number of alternatives, those of `rule` are plain words, and
// `other` must have been drawn before. No alternative's leading plain words may begin another's of the same
// rule: the text then determines every choice, and the entropy of the text is the entropy of the choices.
//
// A plain value. Thread-safety: immutable once made.
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
  /// Throws Error for a rule that uses a name that no rule above it has.
  explicit Grammar(std::string_view rules);

  /// One text.
  std::string write(Generator& generator) const;
  double entropy() const { return rules_.back().entropy; }      ///< nats a text: the mean of -log p
  double mean_size() const { return rules_.back().mean_size; }  ///< bytes a text

 private:
  /// Plain words (rule < 0), a draw (as_drawn_for < 0), or words that an earlier draw chose.
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

/// Short stories, each ending with an empty line, until there are at least `min_bytes` bytes. The same for
/// the same seed. Plain ASCII. The hero at the beginning of a story recurs up to its end, and the thing found
/// in the first lines is given away in the last: good predictions need a long context.
std::string write_stories(uint64_t seed = 1, size_t min_bytes = 1'000'000);

/// Nats per character of an endless sequence of stories: the expected information in the choices of one story
/// over its expected length. A model that sees the story from its beginning cannot have a lower expected
/// loss.
double stories_entropy();

/// The rules of the stories, stories.txt.
std::string_view stories_rules();

}  // namespace gradus::data

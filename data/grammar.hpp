// Grammar: a probabilistic grammar with a memory, which writes texts, knows their entropy exactly, and scores
// any text.
//
// Rules, one a line, each using only rules above it; the last one is the whole text:
//
//   hero  = Anna | 3:Ben            alternatives, Ben three times as probable as Anna
//   he    = she | he
//   story = {hero} sang, and {he@hero} danced, and {@hero} slept.\n
//
//   {rule}        draws an alternative and remembers its number
//   {rule@other}  the alternative of `rule` with the number that was last drawn for `other`
//   {@rule}       the same words again, short for {rule@rule}
//
// A line without = goes on with the rule above it, spaces around alternatives do not count, \n is a line
// break. Rules that appear beside an @ have plain words as alternatives, and `other` must have been drawn on
// every way there. In a rule that is drawn no alternative's leading plain words may begin another's: the text
// then determines every choice, its derivation is unique, and the entropy of the text is the entropy of the
// choices.
//
// A plain value. Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/random.hpp"

namespace gradus::data {

class Grammar {
 public:
  /// Throws Error naming the rule if `rules` does not keep to the above.
  explicit Grammar(std::string_view rules);

  /// One text.
  std::string write(Generator& generator) const;
  double entropy() const { return rules_.back().entropy; }      ///< nats a text: the mean of -log p
  double mean_size() const { return rules_.back().mean_size; }  ///< bytes a text
  /// -log p of `text`, which is one or more whole texts, in nats. Throws Error where the text cannot go on
  /// so.
  double nats(std::string_view text) const;

 private:
  /// Plain words (rule < 0), a draw (as_drawn_for < 0), or words chosen by an earlier draw.
  struct Piece {
    std::string words;
    int rule = -1;
    int as_drawn_for = -1;
  };
  struct Alternative {
    int64_t weight = 1;
    std::vector<Piece> pieces;
    bool plain() const { return pieces.size() == 1 && pieces[0].rule < 0; }
    std::string_view lead() const { return pieces[0].words; }
  };
  struct Rule {
    std::string name;
    std::vector<Alternative> alternatives;
    int64_t weight = 0;
    double entropy = 0;
    double mean_size = 0;
    std::set<int> needs;  // rules that must have been drawn before this one
    std::set<int> draws;  // rules that have been drawn, whatever happens, once this one is through
    double probability(const Alternative& a) const {
      return static_cast<double>(a.weight) / static_cast<double>(weight);
    }
  };
  using Memory = std::vector<int>;  // for each rule the alternative last drawn

  void add_rule(std::string_view line);
  Alternative parse_alternative(const std::string& rule, std::string_view text) const;
  Piece parse_reference(const std::string& rule, std::string_view text) const;
  int find(const std::string& rule, std::string_view name) const;
  void check_choices(const Rule& rule) const;
  void check_memory(Rule& rule) const;
  void measure(Rule& rule) const;

  std::string_view words(const Piece& piece, const Memory& memory) const;
  void write(int rule, Generator& generator, Memory& memory, std::string& out) const;
  double read(int rule, Memory& memory, std::string_view text, size_t& at) const;

  std::vector<Rule> rules_;
};

}  // namespace gradus::data

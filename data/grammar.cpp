#include "gradus/data/grammar.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "gradus/autograd/error.hpp"

namespace gradus::data {
namespace {

constexpr std::string_view kOp = "grammar";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Cuts what comes before the separator off the front of `text`; all of it if there is none.
std::string_view cut(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

std::string with_line_breaks(std::string_view words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool escaped = words.substr(i, 2) == "\\n";
    out += escaped ? '\n' : words[i];
    i += escaped ? 1 : 0;
  }
  return out;
}

/// The rules, one string each, continuation lines joined.
std::vector<std::string> joined_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = trimmed(cut(text, '\n'));
    if (line.empty()) continue;
    if (!lines.empty() && line.find('=') == line.npos) {
      lines.back().append(" ").append(line);
    } else {
      lines.emplace_back(line);
    }
  }
  return lines;
}

}  // namespace

Grammar::Grammar(std::string_view rules) {
  for (const std::string& line : joined_lines(rules)) add_rule(line);
  if (rules_.empty()) fail(kOp, "there must be at least one rule, got none.");
  check_choices(rules_.back());
  if (const Rule& text = rules_.back(); !text.needs.empty()) {
    fail(kOp, "the last rule, ", text.name, ", must draw ", rules_[*text.needs.begin()].name,
         " before it says it again.");
  }
}

void Grammar::add_rule(std::string_view line) {
  Rule rule;
  const bool has_body = line.find('=') != line.npos;
  rule.name = trimmed(cut(line, '='));
  if (!has_body || rule.name.empty())
    fail(kOp, "a rule must read `name = words | words`, got '", rule.name, "'.");
  for (const Rule& other : rules_) {
    if (other.name == rule.name) fail(kOp, "rule ", rule.name, " must be given once, got it twice.");
  }
  for (bool more = true; more;) {
    more = line.find('|') != line.npos;
    rule.alternatives.push_back(parse_alternative(rule.name, trimmed(cut(line, '|'))));
    rule.weight += rule.alternatives.back().weight;
  }
  check_memory(rule);
  measure(rule);
  rules_.push_back(std::move(rule));
}

Grammar::Alternative Grammar::parse_alternative(const std::string& rule, std::string_view text) const {
  Alternative alternative;
  if (const size_t digits = text.find_first_not_of("0123456789");
      digits > 0 && digits < text.size() && text[digits] == ':') {
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, alternative.weight);
    if (error != std::errc() || alternative.weight < 1)
      fail(kOp, "rule ", rule, " must have weights from 1, got '", text, "'.");
    text = trimmed(text.substr(digits + 1));
  }
  if (text.empty()) fail(kOp, "rule ", rule, " must have words in each alternative, got an empty one.");
  while (!text.empty()) {
    const size_t brace = std::min(text.find('{'), text.size());
    if (brace > 0) alternative.pieces.push_back({.words = with_line_breaks(text.substr(0, brace))});
    text.remove_prefix(brace);
    if (text.empty()) break;
    if (text.find('}') == text.npos) fail(kOp, "rule ", rule, " must close its brace, got '", text, "'.");
    alternative.pieces.push_back(parse_reference(rule, cut(text, '}').substr(1)));
  }
  return alternative;
}

Grammar::Piece Grammar::parse_reference(const std::string& rule, std::string_view text) const {
  if (text.find('@') == text.npos) {
    const int drawn = find(rule, text);
    check_choices(rules_[drawn]);
    return {.words = "", .rule = drawn};
  }
  const std::string_view own = cut(text, '@');
  const Piece piece{
      .words = "", .rule = find(rule, own.empty() ? text : own), .as_drawn_for = find(rule, text)};
  const auto& said = rules_[piece.rule].alternatives;
  const auto& drawn = rules_[piece.as_drawn_for].alternatives;
  const auto plain = [](const Alternative& a) { return a.plain(); };
  if (!std::all_of(said.begin(), said.end(), plain) || !std::all_of(drawn.begin(), drawn.end(), plain)) {
    fail(kOp, "rule ", rule, " must use plain words around @, got {", own, "@", text, "}.");
  }
  if (said.size() != drawn.size()) {
    fail(kOp, "rule ", rule, " must pair rules of equal length in {", own, "@", text, "}, got ", said.size(),
         " and ", drawn.size(), " alternatives.");
  }
  return piece;
}

int Grammar::find(const std::string& rule, std::string_view name) const {
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].name == name) return static_cast<int>(i);
  }
  fail(kOp, "rule ", rule, " must use only rules above it, got '", name, "'.");
}

void Grammar::check_choices(const Rule& rule) const {
  for (const Alternative& a : rule.alternatives) {
    for (const Alternative& b : rule.alternatives) {
      if (&a == &b || !b.lead().starts_with(a.lead())) continue;
      fail(kOp, "rule ", rule.name, " must have alternatives that differ in their first words, got '",
           a.lead(), "' and '", b.lead(), "'. Hint: move what they share to the rule that uses this one.");
    }
  }
}

void Grammar::check_memory(Rule& rule) const {
  for (const Alternative& alternative : rule.alternatives) {
    std::set<int> drawn;
    for (const Piece& piece : alternative.pieces) {
      if (piece.as_drawn_for >= 0) {
        if (!drawn.count(piece.as_drawn_for)) rule.needs.insert(piece.as_drawn_for);
      } else if (piece.rule >= 0) {
        const Rule& inner = rules_[piece.rule];
        std::set_difference(inner.needs.begin(), inner.needs.end(), drawn.begin(), drawn.end(),
                            std::inserter(rule.needs, rule.needs.end()));
        drawn.insert(piece.rule);
        drawn.insert(inner.draws.begin(), inner.draws.end());
      }
    }
    if (&alternative == &rule.alternatives.front()) {
      rule.draws = drawn;
    } else {
      std::erase_if(rule.draws, [&](int i) { return !drawn.count(i); });
    }
  }
}

// Draws are independent of each other, and no draw depends on what an earlier one gave; so expectations add
// up, and words said again have the mean size that they have over the draw they follow.
void Grammar::measure(Rule& rule) const {
  for (const Alternative& alternative : rule.alternatives) {
    const double p = rule.probability(alternative);
    double entropy = -std::log(p);
    double size = 0;
    for (const Piece& piece : alternative.pieces) {
      if (piece.rule < 0) {
        size += static_cast<double>(piece.words.size());
      } else if (piece.as_drawn_for < 0) {
        entropy += rules_[piece.rule].entropy;
        size += rules_[piece.rule].mean_size;
      } else {
        const Rule& said = rules_[piece.rule];
        const Rule& drawn = rules_[piece.as_drawn_for];
        for (size_t i = 0; i < said.alternatives.size(); ++i) {
          size += drawn.probability(drawn.alternatives[i]) *
                  static_cast<double>(said.alternatives[i].lead().size());
        }
      }
    }
    rule.entropy += p * entropy;
    rule.mean_size += p * size;
  }
}

std::string_view Grammar::words(const Piece& piece, const Memory& memory) const {
  if (piece.rule < 0) return piece.words;
  return rules_[piece.rule].alternatives[memory[piece.as_drawn_for]].lead();
}

std::string Grammar::write(Generator& generator) const {
  std::string out;
  Memory memory(rules_.size());
  write(static_cast<int>(rules_.size()) - 1, generator, memory, out);
  return out;
}

void Grammar::write(int rule, Generator& generator, Memory& memory, std::string& out) const {
  const auto& alternatives = rules_[rule].alternatives;
  int64_t ticket = generator.below(rules_[rule].weight);
  int chosen = 0;
  while (ticket >= alternatives[chosen].weight) ticket -= alternatives[chosen++].weight;
  memory[rule] = chosen;
  for (const Piece& piece : alternatives[chosen].pieces) {
    if (piece.rule >= 0 && piece.as_drawn_for < 0) {
      write(piece.rule, generator, memory, out);
    } else {
      out += words(piece, memory);
    }
  }
}

double Grammar::nats(std::string_view text) const {
  double sum = 0;
  for (size_t at = 0; at < text.size();) {
    Memory memory(rules_.size());
    sum += read(static_cast<int>(rules_.size()) - 1, memory, text, at);
  }
  return sum;
}

double Grammar::read(int rule, Memory& memory, std::string_view text, size_t& at) const {
  const auto stray = [&] {
    fail(kOp, "the text must go on as rule ", rules_[rule].name, " says, got other at byte ", at, ".");
  };
  const auto& alternatives = rules_[rule].alternatives;
  const auto chosen = std::find_if(alternatives.begin(), alternatives.end(), [&](const Alternative& a) {
    return text.substr(at).starts_with(a.lead());
  });
  if (chosen == alternatives.end()) stray();
  memory[rule] = static_cast<int>(chosen - alternatives.begin());
  double sum = -std::log(rules_[rule].probability(*chosen));
  for (const Piece& piece : chosen->pieces) {
    if (piece.rule >= 0 && piece.as_drawn_for < 0) {
      sum += read(piece.rule, memory, text, at);
      continue;
    }
    const std::string_view expected = words(piece, memory);
    if (!text.substr(at).starts_with(expected)) stray();
    at += expected.size();
  }
  return sum;
}

}  // namespace gradus::data

#include "gradus/data/grammar.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "gradus/files/error.hpp"

namespace gradus::data {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Removes and returns the part of `text` before the separator, or all of it.
std::string_view cut(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

std::string with_line_breaks(std::string words) {
  for (size_t at = 0; (at = words.find("\\n", at)) != words.npos; ++at) words.replace(at, 2, "\n");
  return words;
}

/// The rules, one string each, with their continuation lines.
std::vector<std::string> joined_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = trimmed(cut(text, '\n'));
    if (!lines.empty() && line.find('=') == line.npos)
      lines.back().append(" ").append(line);
    else if (!line.empty())
      lines.emplace_back(line);
  }
  return lines;
}

}  // namespace

Grammar::Grammar(std::string_view rules) {
  for (const std::string& line : joined_lines(rules)) {
    std::string_view body = line;
    Rule rule;
    rule.name = trimmed(cut(body, '='));
    while (!body.empty()) {
      rule.alternatives.push_back(parse(trimmed(cut(body, '|'))));
      rule.weight += rule.alternatives.back().weight;
    }
    measure(rule);
    rules_.push_back(std::move(rule));
  }
}

Grammar::Alternative Grammar::parse(std::string_view text) const {
  Alternative alternative;
  const size_t digits = text.find_first_not_of("0123456789");
  if (digits > 0 && digits < text.size() && text[digits] == ':') {
    std::from_chars(text.data(), text.data() + digits, alternative.weight);
    text = trimmed(text.substr(digits + 1));
  }
  while (!text.empty()) {
    if (const std::string_view words = cut(text, '{'); !words.empty())
      alternative.pieces.push_back({.words = with_line_breaks(std::string(words))});
    if (text.empty()) break;
    std::string_view other = cut(text, '}');
    if (other.find('@') == other.npos) {
      alternative.pieces.push_back({.words = "", .rule = find(other)});
      continue;
    }
    const std::string_view name = cut(other, '@');
    alternative.pieces.push_back(
        {.words = "", .rule = find(name.empty() ? other : name), .as_drawn_for = find(other)});
  }
  return alternative;
}

int Grammar::find(std::string_view name) const {
  for (size_t i = 0; i < rules_.size(); ++i)
    if (rules_[i].name == name) return static_cast<int>(i);
  fail("grammar", "a rule must use only rules above it, got '", name, "'.");
}

// Draws are independent, so expectations add up, and repeated words have their mean size for the draw that
// they repeat.
void Grammar::measure(Rule& rule) const {
  const auto probability = [](const Alternative& a, const Rule& of) {
    return static_cast<double>(a.weight) / static_cast<double>(of.weight);
  };
  for (const Alternative& alternative : rule.alternatives) {
    const double p = probability(alternative, rule);
    double entropy = -std::log(p);
    double size = 0;
    for (const Piece& piece : alternative.pieces) {
      if (piece.rule < 0) {
        size += static_cast<double>(piece.words.size());
      } else if (piece.as_drawn_for < 0) {
        entropy += rules_[piece.rule].entropy;
        size += rules_[piece.rule].mean_size;
      } else {
        const Rule& drawn = rules_[piece.as_drawn_for];
        for (size_t i = 0; i < drawn.alternatives.size(); ++i)
          size += probability(drawn.alternatives[i], drawn) *
                  static_cast<double>(rules_[piece.rule].alternatives[i].pieces[0].words.size());
      }
    }
    rule.entropy += p * entropy;
    rule.mean_size += p * size;
  }
}

std::string Grammar::write(Generator& generator) const {
  std::string out;
  std::vector<int> drawn(rules_.size());  // for each rule the alternative that was last drawn
  write(static_cast<int>(rules_.size()) - 1, generator, drawn, out);
  return out;
}

void Grammar::write(int rule, Generator& generator, std::vector<int>& drawn, std::string& out) const {
  const auto& alternatives = rules_[rule].alternatives;
  int64_t ticket = generator.below(rules_[rule].weight);
  int chosen = 0;
  while (ticket >= alternatives[chosen].weight) ticket -= alternatives[chosen++].weight;
  drawn[rule] = chosen;
  for (const Piece& piece : alternatives[chosen].pieces) {
    if (piece.rule < 0)
      out += piece.words;
    else if (piece.as_drawn_for < 0)
      write(piece.rule, generator, drawn, out);
    else
      out += rules_[piece.rule].alternatives[drawn[piece.as_drawn_for]].pieces[0].words;
  }
}

// -- the stories

static const Grammar& stories() {
  static const Grammar grammar(stories_rules());
  return grammar;
}

std::string write_stories(uint64_t seed, size_t min_bytes) {
  Generator generator(seed);
  std::string text;
  text.reserve(min_bytes + 4096);
  while (text.size() < min_bytes) text += stories().write(generator);
  return text;
}

double stories_entropy() { return stories().entropy() / stories().mean_size(); }

}  // namespace gradus::data

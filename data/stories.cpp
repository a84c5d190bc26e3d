#include "gradus/data/stories.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "gradus/autograd/random/random.hpp"

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

class Grammar {
 public:
  explicit Grammar(std::string_view lines) {
    std::map<std::string, std::string> texts;  // of rules, with their continuation lines
    while (!lines.empty()) {
      std::string_view line = cut(lines, '\n');
      if (line.find('=') != line.npos) last_ = trimmed(cut(line, '='));
      (texts[last_] += ' ') += trimmed(line);
    }
    for (const auto& [name, text] : texts)
      for (std::string_view rest = text; !rest.empty();)
        rules_[name].push_back(alternative(trimmed(cut(rest, '|'))));
  }

  void write_story(Generator& generator, std::string& out) const {
    std::map<std::string_view, size_t> drawn;  // for each rule the alternative that was last drawn
    write(last_, generator, drawn, out);
  }

 private:
  struct Alternative {
    int64_t weight;
    std::string body;
  };
  using Rule = std::vector<Alternative>;

  static Alternative alternative(std::string_view text) {
    int64_t weight = 1;
    if (text.size() > 1 && text[1] == ':') {
      weight = text[0] - '0';
      text = trimmed(text.substr(2));
    }
    std::string body(text);
    for (size_t at = 0; (at = body.find("\\n", at)) != body.npos; ++at) body.replace(at, 2, 1, '\n');
    return {weight, std::move(body)};
  }

  void write(std::string_view name, Generator& generator, std::map<std::string_view, size_t>& drawn,
             std::string& out) const {
    const Rule& rule = rules_.find(name)->second;
    int64_t weights = 0;
    for (const Alternative& one : rule) weights += one.weight;
    int64_t ticket = generator.below(weights);
    size_t chosen = 0;
    while (ticket >= rule[chosen].weight) ticket -= rule[chosen++].weight;
    drawn[name] = chosen;
    for (std::string_view rest = rule[chosen].body; !rest.empty();) {
      out += cut(rest, '{');
      if (rest.empty()) return;
      std::string_view other = cut(rest, '}');
      if (other.find('@') == other.npos) {
        write(other, generator, drawn, out);
        continue;
      }
      const std::string_view said = cut(other, '@');
      out += rules_.find(said.empty() ? other : said)->second[drawn.at(other)].body;
    }
  }

  std::map<std::string, Rule, std::less<>> rules_;
  std::string last_;  // the name of the last rule
};

}  // namespace

std::string write_stories(uint64_t seed, size_t min_bytes) {
  static const Grammar grammar(stories_rules());
  Generator generator(seed);
  std::string text;
  text.reserve(min_bytes + 4096);
  while (text.size() < min_bytes) grammar.write_story(generator, text);
  return text;
}

}  // namespace gradus::data

// An independent reading of the notation in data/stories.hpp, as naive as can be: it tries every alternative
// everywhere and keeps all derivations of which `possible` approves, so it finds ambiguities.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

class GrammarOracle {
 public:
  struct Derivation {
    std::string text;
    double nats = 0;
    std::map<std::string, size_t> drawn;
  };
  using Possible = std::function<bool(const std::string& beginning)>;

  explicit GrammarOracle(const std::string& rules) {
    std::istringstream lines(rules);
    std::vector<std::string> joined;
    for (std::string line; std::getline(lines, line);) {
      if (line.find('=') != line.npos)
        joined.push_back(line);
      else if (!trim(line).empty())
        joined.back() += " " + trim(line);
    }
    for (const std::string& line : joined) {
      const size_t equals = line.find('=');
      last_ = trim(line.substr(0, equals));
      std::istringstream parts(line.substr(equals + 1));
      for (std::string part; std::getline(parts, part, '|');) rules_[last_].push_back(weighted(trim(part)));
    }
  }

  std::vector<Derivation> derivations(const Possible& possible) const {
    std::vector<Derivation> all;
    walk("{" + last_ + "}", {}, possible, [&](const Derivation& d) { all.push_back(d); });
    return all;
  }

  /// The entropy of a text in nats, and its expected size. Draws are independent, so expectations add up, and
  /// repeated words have their mean size for the draw that they repeat.
  std::pair<double, double> measure() const { return measure(last_); }

 private:
  using Alternative = std::pair<double, std::string>;  // weight, body
  using Next = std::function<void(const Derivation&)>;

  static std::string trim(const std::string& text) {
    const size_t first = text.find_first_not_of(' ');
    return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
  }
  static Alternative weighted(std::string body) {
    for (size_t at; (at = body.find("\\n")) != body.npos;) body.replace(at, 2, "\n");
    const size_t colon = body.find(':');
    const bool has_weight = colon != body.npos && colon > 0 && body.find_first_not_of("0123456789") == colon;
    return has_weight ? Alternative{std::stod(body), trim(body.substr(colon + 1))} : Alternative{1, body};
  }

  std::pair<double, double> measure(const std::string& rule) const {
    const auto total_of = [](const std::vector<Alternative>& all) {
      double total = 0;
      for (const Alternative& a : all) total += a.first;
      return total;
    };
    double entropy = 0, size = 0;
    for (const auto& [weight, body] : rules_.at(rule)) {
      const double p = weight / total_of(rules_.at(rule));
      entropy -= p * std::log(p);
      size_t open = 0, end = 0;
      for (; (open = body.find('{', end)) != body.npos; end = body.find('}', open) + 1) {
        size += p * static_cast<double>(open - end);
        const std::string name = body.substr(open + 1, body.find('}', open) - open - 1);
        const size_t sign = name.find('@');
        if (sign == name.npos) {
          const auto [nats, bytes] = measure(name);
          entropy += p * nats, size += p * bytes;
          continue;
        }
        const std::string other = name.substr(sign + 1), said = sign == 0 ? other : name.substr(0, sign);
        const auto& drawn = rules_.at(other);
        for (size_t i = 0; i < drawn.size(); ++i)
          size +=
              p * drawn[i].first / total_of(drawn) * static_cast<double>(rules_.at(said).at(i).second.size());
      }
      size += p * static_cast<double>(body.size() - end);
    }
    return {entropy, size};
  }

  void walk(const std::string& body, Derivation d, const Possible& possible, const Next& next) const {
    const size_t open = body.find('{');
    d.text += body.substr(0, open);
    if (!possible(d.text)) return;
    if (open == body.npos) return next(d);
    const size_t close = body.find('}', open);
    const std::string name = body.substr(open + 1, close - open - 1), rest = body.substr(close + 1);
    const size_t sign = name.find('@');
    if (sign != name.npos) {
      const std::string other = name.substr(sign + 1), said = sign == 0 ? other : name.substr(0, sign);
      return walk(rules_.at(said).at(d.drawn.at(other)).second + rest, d, possible, next);
    }
    const auto& alternatives = rules_.at(name);
    double total = 0;
    for (const Alternative& a : alternatives) total += a.first;
    for (size_t i = 0; i < alternatives.size(); ++i) {
      Derivation chosen = d;
      chosen.nats -= std::log(alternatives[i].first / total);
      chosen.drawn[name] = i;
      walk(alternatives[i].second, chosen, possible,
           [&](const Derivation& u) { walk(rest, u, possible, next); });
    }
  }

  std::map<std::string, std::vector<Alternative>> rules_;
  std::string last_;
};

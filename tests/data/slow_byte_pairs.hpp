// Byte pairs as the papers and OpenAI's encoder.py describe them, slowly: what the tests compare with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gradus::data::slow {

using Pair = std::pair<std::string, std::string>;
using Parts = std::vector<std::string>;

/// `parts` with each pair, from left to right, as one.
inline Parts joined(const Parts& parts, const Pair& pair) {
  Parts result;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool here = i + 1 < parts.size() && parts[i] == pair.first && parts[i + 1] == pair.second;
    result.push_back(here ? parts[i] + parts[i + 1] : parts[i]);
    if (here) ++i;
  }
  return result;
}

inline Parts bytes_of(const std::string& word) {
  Parts parts;
  for (const char byte : word) parts.emplace_back(1, byte);
  return parts;
}

/// The function `bpe` of encoder.py: the pair of the lowest rank, everywhere, until none has a rank.
inline Parts encode(const std::string& word, const std::map<Pair, int>& ranks) {
  Parts parts = bytes_of(word);
  for (;;) {
    const Pair* best = nullptr;
    int rank = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find({parts[i], parts[i + 1]});
      if (found == ranks.end() || (best && found->second >= rank)) continue;
      best = &found->first;
      rank = found->second;
    }
    if (!best) return parts;
    parts = joined(parts, *best);
  }
}

/// The pairs that are joined, in order: each time all are counted anew. `number` orders those that occur
/// equally often, by their left part, then their right; parts that were joined come behind all bytes.
template <class Number>
std::vector<Pair> learn(const std::map<std::string, int64_t>& words, size_t most, Number number) {
  std::vector<std::pair<Parts, int64_t>> texts;
  for (const auto& [word, count] : words) texts.emplace_back(bytes_of(word), count);
  std::vector<Pair> merges;
  std::map<std::string, int> numbers;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    numbers[text] = number(byte);
  }
  while (merges.size() < most) {
    std::map<std::pair<int, int>, std::pair<int64_t, Pair>> counts;
    for (const auto& [parts, count] : texts)
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        auto& entry = counts[{numbers.at(parts[i]), numbers.at(parts[i + 1])}];
        entry.first += count;
        entry.second = {parts[i], parts[i + 1]};
      }
    const Pair* best = nullptr;
    int64_t most_often = 1;  // A pair that occurs once is none.
    for (const auto& [ignored, entry] : counts) {
      const auto& [count, pair] = entry;
      if (count <= most_often || numbers.contains(pair.first + pair.second)) continue;
      most_often = count;
      best = &pair;
    }
    if (!best) break;
    merges.push_back(*best);
    numbers.emplace(best->first + best->second, static_cast<int>(255 + merges.size()));
    for (auto& [parts, count] : texts) parts = joined(parts, merges.back());
  }
  return merges;
}

}  // namespace gradus::data::slow

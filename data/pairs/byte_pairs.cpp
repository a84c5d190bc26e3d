#include "gradus/data/pairs/byte_pairs.hpp"

#include <algorithm>
#include <bit>

#include "gradus/data/pairs/words.hpp"

namespace gradus::data::pairs {
namespace {

/// Where a word was encoded before. The tokens are not kept, only their place in the result.
struct Seen {
  std::string_view word;
  size_t begin = 0, count = 0;
};

constexpr size_t kMostSeen = size_t{1} << 16;
constexpr size_t kLongestSeen = 64;  // bytes; longer words hardly come twice

}  // namespace

BytePairs::BytePairs(std::vector<std::string> texts, std::vector<Merge> merges, std::vector<int32_t> specials)
    : texts_(std::move(texts)), rules_(std::move(merges)), specials_(std::move(specials)) {
  std::sort(specials_.begin(), specials_.end());
  std::vector<bool> made(texts_.size());
  for (const Merge& merge : rules_.merges) made[static_cast<size_t>(merge.joined)] = true;
  for (const int32_t special : specials_) made[static_cast<size_t>(special)] = true;
  for (size_t token = 0; token < texts_.size(); ++token)
    if (!made[token])
      rules_.of_byte[static_cast<unsigned char>(texts_[token][0])] = static_cast<int32_t>(token);
}

void BytePairs::encode(std::string_view text, std::vector<int32_t>& tokens) const {
  // One place for each remainder of the hash, taken by the word that came last: a text has few words that
  // come often, and those soon have their places back.
  std::vector<Seen> seen(std::bit_ceil(std::clamp<size_t>(text.size() / 8, 1, kMostSeen)));
  const std::hash<std::string_view> hash;
  WordMerger merger(rules_);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, first_word(text));
    text.remove_prefix(word.size());
    if (word.size() > kLongestSeen) {
      merger.encode(word, tokens);
      continue;
    }
    Seen& place = seen[hash(word) & (seen.size() - 1)];
    if (place.word != word) {
      place = {word, tokens.size(), 0};
      merger.encode(word, tokens);
      place.count = tokens.size() - place.begin;
    } else {
      const size_t end = tokens.size();
      tokens.resize(end + place.count);
      std::copy_n(tokens.data() + place.begin, place.count, tokens.data() + end);
    }
  }
}

void BytePairs::encode_with_specials(std::string_view text, std::vector<int32_t>& tokens) const {
  std::vector<size_t> next;  // where the text of each special token comes next
  for (const int32_t special : specials_) next.push_back(text.find(this->text(special)));
  for (size_t done = 0;;) {
    size_t at = text.npos, size = 0;
    int32_t first = 0;
    for (size_t i = 0; i < specials_.size(); ++i) {
      const std::string& special = this->text(specials_[i]);
      if (next[i] < done) next[i] = text.find(special, done);
      if (next[i] == text.npos || next[i] > at || (next[i] == at && special.size() < size)) continue;
      at = next[i];
      size = special.size();
      first = specials_[i];
    }
    encode(text.substr(done, at == text.npos ? at : at - done), tokens);
    if (at == text.npos) return;
    tokens.push_back(first);
    done = at + size;
  }
}

}  // namespace gradus::data::pairs

#include "gradus/data/pairs/byte_pairs.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "gradus/data/pairs/words.hpp"

namespace gradus::data::pairs {
namespace {

constexpr int32_t kGone = -1;  // the token of a part that has become a part of another

/// Encodes one word after another by the rules of a vocabulary, which it borrows; reuses its memory.
class WordMerger {
 public:
  explicit WordMerger(const MergeRules& rules) : rules_(rules) {}

  /// Adds the tokens of a word of n bytes, which takes time n log n.
  void encode(std::string_view word, std::vector<int32_t>& tokens);

 private:
  // Tokens of the word, each where its first byte is.
  struct Part {
    int32_t token;  // kGone within another
    uint32_t before, behind;
  };
  void offer(uint32_t at);

  const MergeRules& rules_;
  std::vector<Part> parts_;
  std::vector<uint64_t> heap_;  // rank of a merge, and where; the least first
};

/// Puts the pair that begins there on the heap, if there is a merge for it.
void WordMerger::offer(uint32_t at) {
  const uint32_t behind = parts_[at].behind;
  if (behind >= parts_.size()) return;
  const uint32_t rank = rules_.ranks.find(pair_key(parts_[at].token, parts_[behind].token));
  if (rank == PairTable::kNone) return;
  heap_.push_back(uint64_t{rank} << 32 | at);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void WordMerger::encode(std::string_view word, std::vector<int32_t>& tokens) {
  parts_.clear();
  for (const char byte : word) {
    const auto at = static_cast<uint32_t>(parts_.size());
    parts_.push_back({rules_.of_byte[static_cast<unsigned char>(byte)], at - 1, at + 1});
  }
  const auto end = static_cast<uint32_t>(parts_.size());
  for (uint32_t at = 0; at + 1 < end; ++at) offer(at);

  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const uint64_t best = heap_.back();
    heap_.pop_back();
    const Merge& merge = rules_.merges[best >> 32];
    const auto at = static_cast<uint32_t>(best);
    const uint32_t right = parts_[at].behind;
    // A merge with priority may have used one of the two since.
    if (parts_[at].token != merge.left || right >= end || parts_[right].token != merge.right) continue;

    parts_[at].token = merge.joined;
    parts_[at].behind = parts_[right].behind;
    parts_[right].token = kGone;
    if (parts_[at].behind < end) {
      parts_[parts_[at].behind].before = at;
      offer(at);
    }
    if (at > 0) offer(parts_[at].before);
  }
  for (uint32_t at = 0; at < end; at = parts_[at].behind) tokens.push_back(parts_[at].token);
}

/// Where a word was encoded before. The tokens are not kept, only their place in the result.
struct Seen {
  std::string_view word;
  size_t begin = 0, count = 0;
};

constexpr size_t kMostSeen = size_t{1} << 16;
constexpr size_t kLongestSeen = 64;  // bytes; longer words hardly come twice

}  // namespace

MergeRules::MergeRules(std::vector<Merge> all) : merges(std::move(all)), ranks(merges.size()) {
  for (size_t rank = 0; rank < merges.size(); ++rank)
    ranks.add(pair_key(merges[rank].left, merges[rank].right), static_cast<uint32_t>(rank));
}

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
  // One slot for each remainder of the hash, which holds the latest word: a text has few frequent words, and
  // those soon get their slots back.
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

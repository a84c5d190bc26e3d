#include "gradus/data/pairs/learn.hpp"

#include <limits>
#include <queue>
#include <unordered_set>
#include <vector>

#include "gradus/data/pairs/words.hpp"
#include "gradus/files/error.hpp"

namespace gradus::data::pairs {
namespace {

constexpr int64_t kFewest = 2;    // occurrences of a pair that is joined
constexpr int32_t kNoToken = -1;  // between words, and within tokens
constexpr size_t kMostPlaces = std::numeric_limits<uint32_t>::max();

/// The tokens of all different words, one word after another, and the places of each pair of tokens.
///
/// A token is stored at the places of its first and its last byte, so that its neighbours are found without
/// links: at place p, the previous token is tokens_[p - 1], and the next one begins as many bytes later as
/// the token has.
class Places {
 public:
  /// A pair with its number of occurrences; ordered by it, then by the smallest key.
  struct Candidate {
    int64_t count;
    uint64_t key;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };

  explicit Places(const std::vector<std::string>& texts) : texts_(texts), tokens_{kNoToken}, word_{0} {}

  void add(std::string_view word, int64_t count, const std::array<int32_t, kBytes>& of_byte) {
    if (tokens_.size() + word.size() >= kMostPlaces)
      fail("tokenizer", "the different words of a text must have less than ", kMostPlaces,
           " bytes, got more.");
    for (const char byte : word) {
      tokens_.push_back(of_byte[static_cast<unsigned char>(byte)]);
      word_.push_back(static_cast<uint32_t>(counts_.size()));
      if (tokens_.end()[-2] != kNoToken) found(tokens_.end()[-2], tokens_.back(), tokens_.size() - 2, count);
    }
    tokens_.push_back(kNoToken);
    word_.push_back(static_cast<uint32_t>(counts_.size()));
    counts_.push_back(count);
  }

  /// Removes and returns the pair to join next; its count is 0 if there is none.
  Candidate most_frequent() {
    offer_new_pairs();
    while (!heap_.empty()) {
      Candidate best = heap_.top();
      heap_.pop();
      const int64_t count = pairs_.at(best.key).count;
      if (count == best.count) return best;
      best.count = count;  // Some of its tokens were joined with others after it was pushed.
      if (count >= kFewest) heap_.push(best);
    }
    return {0, 0};
  }

  /// Discards a pair without joining it.
  void skip(uint64_t key) { pairs_.at(key) = {}; }

  void join(const Merge& merge) {
    const std::vector<Place> places = std::move(pairs_.at(pair_key(merge.left, merge.right)).places);
    for (const Place at : places) join_at(at, merge);
    pairs_.at(pair_key(merge.left, merge.right)) = {};
  }

 private:
  using Place = uint32_t;
  struct Pair {
    int64_t count = 0;
    std::vector<Place> places;  // ascending; some may no longer have the pair
  };

  size_t size_of(int32_t token) const { return texts_[static_cast<size_t>(token)].size(); }

  void found(int32_t left, int32_t right, size_t at, int64_t count) {
    const uint64_t key = pair_key(left, right);
    Pair& pair = pairs_[key];
    if (pair.places.empty()) new_.push_back(key);
    pair.count += count;
    pair.places.push_back(static_cast<Place>(at));
  }
  void lost(int32_t left, int32_t right, int64_t count) { pairs_.at(pair_key(left, right)).count -= count; }

  void join_at(Place at, const Merge& merge) {
    const size_t middle = at + size_of(merge.left), end = middle + size_of(merge.right);
    if (tokens_[at] != merge.left || tokens_[middle] != merge.right) return;
    const int64_t count = counts_[word_[at]];
    const int32_t previous = tokens_[at - 1], next = tokens_[end];
    tokens_[middle] = kNoToken;
    tokens_[at] = tokens_[end - 1] = merge.joined;
    if (previous != kNoToken) {
      lost(previous, merge.left, count);
      found(previous, merge.joined, at - size_of(previous), count);
    }
    if (next != kNoToken) {
      lost(merge.right, next, count);
      found(merge.joined, next, at, count);
    }
  }

  void offer_new_pairs() {
    for (const uint64_t key : new_)
      if (const int64_t count = pairs_.at(key).count; count >= kFewest) heap_.push({count, key});
    new_.clear();
  }

  const std::vector<std::string>& texts_;
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> word_;   // by place, the index in counts_
  std::vector<int64_t> counts_;  // of each word
  std::unordered_map<uint64_t, Pair> pairs_;
  std::vector<uint64_t> new_;  // not on the heap yet
  std::priority_queue<Candidate> heap_;
};

}  // namespace

void WordCounts::add(std::string_view text) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, first_word(text));
    text.remove_prefix(word.size());
    if (const auto known = counts_.find(word); known != counts_.end())
      ++known->second;
    else
      counts_.emplace(word, 1);
  }
}

BytePairs learn(const WordCounts& words, int64_t size, std::string_view special) {
  std::vector<std::string> texts;
  Model model;
  for (const unsigned char byte : bytes_by_letter()) {
    model.of_byte[byte] = static_cast<int32_t>(texts.size());
    texts.emplace_back(1, static_cast<char>(byte));
  }
  Places places(texts);
  for (const auto& [word, count] : words.counts_) places.add(word, count, model.of_byte);

  std::unordered_set<std::string> taken{std::string(special)};
  while (static_cast<int64_t>(texts.size()) + 1 < size) {
    const auto [count, key] = places.most_frequent();
    if (count == 0) break;
    const Merge merge{static_cast<int32_t>(key >> 32), static_cast<int32_t>(key & 0xFFFFFFFF),
                      static_cast<int32_t>(texts.size())};
    std::string joined = texts[static_cast<size_t>(merge.left)] + texts[static_cast<size_t>(merge.right)];
    if (!taken.insert(joined).second) {
      places.skip(key);
      continue;
    }
    texts.push_back(std::move(joined));
    places.join(merge);
    model.merges.push_back(merge);
  }
  texts.emplace_back(special);
  model.texts = std::move(texts);
  model.added.push_back({std::string(special), static_cast<int32_t>(model.texts.size()) - 1});
  return BytePairs(std::move(model));
}

}  // namespace gradus::data::pairs

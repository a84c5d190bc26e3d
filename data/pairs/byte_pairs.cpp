#include "gradus/data/pairs/byte_pairs.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

#include "gradus/data/pairs/words.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data::pairs {
namespace {

constexpr char32_t kFirstOther = 0x100;
constexpr size_t kLetters = 0x144;  // 68 letters from U+0100 on

constexpr bool prints(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Letters {
  std::array<char32_t, kBytes> of_byte{};
  std::array<int, kLetters> byte_of{};
  std::array<unsigned char, kBytes> by_letter{};

  constexpr Letters() {
    for (int& byte : byte_of) byte = -1;
    char32_t other = kFirstOther;
    for (int byte = 0; byte < kBytes; ++byte) {
      const auto at = static_cast<size_t>(byte);
      of_byte[at] = prints(byte) ? static_cast<char32_t>(byte) : other++;
      byte_of[of_byte[at]] = byte;
    }
    size_t next = 0;
    for (const int byte : byte_of)
      if (byte >= 0) by_letter[next++] = static_cast<unsigned char>(byte);
  }
};
constexpr Letters kTable;

constexpr int32_t kJoined = -1;

/// Encodes words by the merges of a vocabulary, which it borrows; reuses its memory.
class WordMerger {
 public:
  explicit WordMerger(const MergeRules& rules) : rules_(rules) {}

  /// Appends the tokens of a word of n bytes in time n log n.
  void encode(std::string_view word, std::vector<int32_t>& tokens) {
    parts_.clear();
    for (const char byte : word) {
      const auto at = static_cast<uint32_t>(parts_.size());
      parts_.push_back({rules_.of_byte[static_cast<unsigned char>(byte)], at - 1, at + 1});
    }
    const auto end = static_cast<uint32_t>(parts_.size());
    for (uint32_t at = 0; at + 1 < end; ++at) push(at);

    while (!heap_.empty()) {
      const uint64_t best = heap_.top();
      heap_.pop();
      const Merge& merge = rules_.merges[best >> 32];
      const auto at = static_cast<uint32_t>(best);
      const uint32_t right = parts_[at].next;
      // A merge of higher priority may have used one of the two.
      if (parts_[at].token != merge.left || right >= end || parts_[right].token != merge.right) continue;

      parts_[at].token = merge.joined;
      parts_[at].next = parts_[right].next;
      parts_[right].token = kJoined;
      if (parts_[at].next < end) {
        parts_[parts_[at].next].previous = at;
        push(at);
      }
      if (at > 0) push(parts_[at].previous);
    }
    for (uint32_t at = 0; at < end; at = parts_[at].next) tokens.push_back(parts_[at].token);
  }

 private:
  /// A token of the word, at the index of its first byte; kJoined at its other bytes.
  struct Part {
    int32_t token;
    uint32_t previous, next;
  };

  /// Pushes the pair that begins there if there is a merge for it.
  void push(uint32_t at) {
    const uint32_t next = parts_[at].next;
    if (next >= parts_.size()) return;
    const uint32_t rank = rules_.ranks.find(pair_key(parts_[at].token, parts_[next].token));
    if (rank != PairTable::kNone) heap_.push(uint64_t{rank} << 32 | at);
  }

  const MergeRules& rules_;
  std::vector<Part> parts_;
  /// The rank of a merge in the upper half, its place in the lower one; the smallest first.
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> heap_;
};

/// An encoded word, and the place of its tokens in the result.
struct Seen {
  std::string_view word;
  size_t begin = 0, count = 0;
};

constexpr size_t kMostSeen = size_t{1} << 16;
constexpr size_t kLongestSeen = 64;  // bytes; longer words rarely occur twice

}  // namespace

char32_t letter_of(unsigned char byte) { return kTable.of_byte[byte]; }

std::string letters_of(std::string_view bytes) {
  std::string letters;
  for (const char byte : bytes) letters += files::to_utf8(letter_of(static_cast<unsigned char>(byte)));
  return letters;
}

std::optional<std::string> bytes_of(std::string_view letters) {
  std::string bytes;
  while (!letters.empty()) {
    const files::CodePoint letter = files::first_code_point(letters);
    if (letter.size == 0 || letter.value >= kLetters || kTable.byte_of[letter.value] < 0) return {};
    bytes += static_cast<char>(kTable.byte_of[letter.value]);
    letters.remove_prefix(static_cast<size_t>(letter.size));
  }
  return bytes;
}

const std::array<unsigned char, kBytes>& bytes_by_letter() { return kTable.by_letter; }

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
  std::vector<AddedToken> added;
  for (const int32_t special : specials_) added.push_back({text(special), special});
  added_ = AddedTokens(std::move(added));
}

void BytePairs::encode(std::string_view text, std::vector<int32_t>& tokens) const {
  // A direct-mapped cache: each slot has the latest word of its hash, which is mostly a frequent one.
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
  added_.split(
      text, true, [&](std::string_view piece) { encode(piece, tokens); },
      [&](int32_t token) { tokens.push_back(token); });
}

BytePairs BytePairs::with_specials(const std::vector<std::string>& more) const {
  std::vector<std::string> texts = texts_;
  std::vector<int32_t> specials = specials_;
  for (const std::string& text : more) {
    specials.push_back(static_cast<int32_t>(texts.size()));
    texts.push_back(text);
  }
  return {std::move(texts), merges(), std::move(specials)};
}

}  // namespace gradus::data::pairs

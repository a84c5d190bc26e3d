#include "gradus/data/pairs/byte_pairs.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

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

/// Merges the parts of words; reuses its memory.
class WordMerger {
 public:
  WordMerger(const std::vector<Merge>& merges, const PairTable& ranks) : merges_(merges), ranks_(ranks) {}

  /// Adds a part at the end of the word.
  void add(int32_t token) {
    const auto at = static_cast<uint32_t>(parts_.size());
    parts_.push_back({token, at - 1, at + 1});
  }

  /// Appends the tokens of the word of n parts in time n log n, and begins another word.
  void merge(std::vector<int32_t>& tokens) {
    const auto end = static_cast<uint32_t>(parts_.size());
    for (uint32_t at = 0; at + 1 < end; ++at) push(at);

    while (!heap_.empty()) {
      const uint64_t best = heap_.top();
      heap_.pop();
      const Merge& merge = merges_[best >> 32];
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
    parts_.clear();
  }

 private:
  /// A token of the word, at the index of its first part; kJoined at its other parts.
  struct Part {
    int32_t token;
    uint32_t previous, next;
  };

  /// Pushes the pair that begins there if there is a merge for it.
  void push(uint32_t at) {
    const uint32_t next = parts_[at].next;
    if (next >= parts_.size()) return;
    const uint32_t rank = ranks_.find(pair_key(parts_[at].token, parts_[next].token));
    if (rank != PairTable::kNone) heap_.push(uint64_t{rank} << 32 | at);
  }

  const std::vector<Merge>& merges_;
  const PairTable& ranks_;
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

std::vector<AddedToken> chosen(const Model& model, bool normalized) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& added : model.added)
    if (added.normalized == normalized) {
      tokens.push_back(added);
      if (normalized) tokens.back().text = pairs::normalized(added.text, model.rules.normalizer);
    }
  return tokens;
}

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

BytePairs::BytePairs(Model model)
    : model_(std::move(model)),
      added_(chosen(model_, false)),
      added_normalized_(chosen(model_, true)),
      ranks_(model_.merges.size()) {
  for (const AddedToken& added : model_.added)
    if (added.special) specials_.push_back(added.token);
  std::ranges::sort(specials_);
  const Rules& rules = model_.rules;
  for (size_t rank = 0; rank < model_.merges.size(); ++rank) {
    const Merge& merge = model_.merges[rank];
    ranks_.add(pair_key(merge.left, merge.right), static_cast<uint32_t>(rank));
    if (rules.of_characters && model_.names[static_cast<size_t>(merge.right)].starts_with(rules.space))
      joins_space_[static_cast<unsigned char>(model_.names[static_cast<size_t>(merge.left)].back())] = true;
  }
  if (!rules.of_characters && !rules.ignore_merges) return;
  const std::vector<std::string>& texts = rules.of_characters ? model_.names : model_.texts;
  by_text_.reserve(texts.size());
  for (size_t token = 0; token < texts.size(); ++token)
    by_text_.emplace(texts[token], static_cast<int32_t>(token));
  for (const AddedToken& added : model_.added)
    if (added.special) by_text_.erase(added.text);
}

std::string BytePairs::letters(int32_t token) const {
  const auto at = static_cast<size_t>(token);
  if (!model_.names.empty()) return model_.names[at];
  const bool special = std::ranges::binary_search(specials_, token);
  return special ? model_.texts[at] : letters_of(model_.texts[at]);
}

bool BytePairs::follows_gpt2() const {
  return model_.rules == Rules{} && specials_.size() == model_.added.size();
}

BytePairs BytePairs::with_specials(const std::vector<std::string>& more) const {
  Model model = model_;
  for (const std::string& text : more) {
    model.added.push_back({text, static_cast<int32_t>(model.texts.size())});
    model.texts.push_back(text);
  }
  return BytePairs(std::move(model));
}

BytePairs BytePairs::cut_to(size_t size) const {
  Model model = model_;
  model.texts.resize(size);
  if (!model.names.empty()) model.names.resize(size);
  std::erase_if(model.added, [&](const AddedToken& one) { return static_cast<size_t>(one.token) >= size; });
  return BytePairs(std::move(model));
}

/// Encodes one text.
class Encoder {
 public:
  Encoder(const BytePairs& pairs, size_t bytes, std::vector<int32_t>& tokens)
      : pairs_(pairs),
        tokens_(tokens),
        merger_(pairs.model_.merges, pairs.ranks_),
        splitter_(pairs.model_.rules.splits),
        seen_(std::bit_ceil(std::clamp<size_t>(bytes / 8, 1, kMostSeen))) {}

  void encode(std::string_view text, bool specials) {
    const std::vector<Normalization>& normalizer = pairs_.model_.rules.normalizer;
    const auto found = [&](int32_t token) { tokens_.push_back(token); };
    const Splitter::Use word = [&](std::string_view one) { add_between_spaces(one); };
    const auto words = [&](std::string_view piece) { splitter_.words(piece, word); };
    const auto piece = [&](std::string_view raw) {
      if (!normalizer.empty()) raw = kept_.emplace_back(normalized(raw, normalizer));
      pairs_.added_normalized_.split(raw, specials, words, found);
    };
    pairs_.added_.split(text, specials, piece, found);
  }

 private:
  /// Cuts where no merge can join: before a space that is not after another, mostly. The tokens are those of
  /// the whole word, which may be a whole text.
  void add_between_spaces(std::string_view word) {
    const std::string& space = pairs_.model_.rules.space;
    if (space.empty()) return add(word);
    size_t begin = 0;
    for (size_t at = word.find(space, 1); at < word.size(); at = word.find(space, at + space.size())) {
      if (pairs_.joins_space_[static_cast<unsigned char>(word[at - 1])]) continue;
      add(word.substr(begin, at - begin));
      begin = at;
    }
    add(word.substr(begin));
  }

  void add(std::string_view word) {
    if (word.size() > kLongestSeen) return add_new(word);
    // A direct-mapped cache: each slot has the latest word of its hash, which is mostly a frequent one.
    Seen& place = seen_[std::hash<std::string_view>()(word) & (seen_.size() - 1)];
    const size_t end = tokens_.size();
    if (place.word != word) {
      add_new(word);
      place = {word, end, tokens_.size() - end};
    } else {
      tokens_.resize(end + place.count);
      std::copy_n(tokens_.data() + place.begin, place.count, tokens_.data() + end);
    }
  }

  void add_new(std::string_view word) {
    const Model& model = pairs_.model_;
    if (model.rules.ignore_merges)
      if (const auto whole = pairs_.by_text_.find(word); whole != pairs_.by_text_.end())
        return tokens_.push_back(whole->second);
    const auto add_bytes = [&](std::string_view bytes) {
      for (const char byte : bytes) merger_.add(model.of_byte[static_cast<unsigned char>(byte)]);
    };
    if (!model.rules.of_characters) add_bytes(word);
    while (model.rules.of_characters && !word.empty()) {
      const int size = files::first_code_point(word).size;
      const std::string_view character = word.substr(0, static_cast<size_t>(std::max(1, size)));
      const auto known = pairs_.by_text_.find(character);
      if (size > 0 && known != pairs_.by_text_.end())
        merger_.add(known->second);
      else
        add_bytes(character);
      word.remove_prefix(character.size());
    }
    merger_.merge(tokens_);
  }

  const BytePairs& pairs_;
  std::vector<int32_t>& tokens_;
  WordMerger merger_;
  Splitter splitter_;
  std::vector<Seen> seen_;
  std::deque<std::string> kept_;  // seen_ has views of these
};

void BytePairs::encode(std::string_view text, bool specials, std::vector<int32_t>& tokens) const {
  Encoder(*this, text.size(), tokens).encode(text, specials);
}

}  // namespace gradus::data::pairs

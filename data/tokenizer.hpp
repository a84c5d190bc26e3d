// Tokenizer: converts text to token numbers and back, by characters, bytes, or byte pairs as in GPT-2.
// PairTrainer learns byte pairs; DecodeStream decodes token by token. The files of a tokenizer in a folder:
//
//   vocab.json             the vocabulary: characters, bytes, or GPT-2's tokens (OpenAI's name: encoder.json)
//   merges.txt             the merges of GPT-2's tokens (OpenAI's name: vocab.bpe)
//   tokenizer.json         the tokenizer for Hugging Face's `tokenizers`
//   tokenizer_config.json  the settings of Hugging Face's `transformers`, which change decoded text without
//                          this file: bos_token, eos_token, chat_template (or a file
//                          chat_template.jinja), added_tokens_decoder
//   special_tokens_map.json, added_tokens.json  the same tokens in older files; only read
//   generation_config.json  eos_token_id, stop_strings; without this file, eos_token_id of config.json
//
// A tokenizer.json with rules that vocab.json cannot express is kept and written back unchanged, as are
// the other files beside it, except config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::files {
class FolderSnapshot;
}

namespace gradus::data {

struct KeptFiles;

namespace pairs {
class BytePairs;
class WordCounts;
}  // namespace pairs

/// A value; copies share the vocabulary. Immutable, so thread-safe.
class Tokenizer {
 public:
  /// One token for each Unicode code point that occurs in `text`, in ascending order. Throws Error if `text`
  /// is empty or not UTF-8, naming the offset of the first bad byte.
  static Tokenizer characters(std::string_view text);
  /// The 256 bytes, token b for byte b: encodes any file.
  static Tokenizer bytes();

  static constexpr int64_t kLeastPairs = 257;        ///< tokens of bpe: the bytes and <|endoftext|>
  static constexpr int64_t kMostPairs = 10'000'000;  ///< tokens of bpe

  /// The kinds that make() accepts: char, byte and bpe.
  static std::vector<std::string> kinds() { return {"char", "byte", "bpe"}; }
  /// characters(text) for kind "char", bytes() for "byte", up to `vocab_size` tokens learnt from the text for
  /// "bpe". Throws Error for another kind, and for bpe as PairTrainer does.
  static Tokenizer make(std::string_view kind, std::string_view text, int64_t vocab_size = 4096);

  std::string_view kind() const;  ///< one of kinds()
  int64_t vocab_size() const;     ///< number of tokens
  /// Special tokens, such as <|endoftext|>, which ends a document; ascending.
  std::vector<int32_t> special_tokens() const;
  /// The token with this text, as decode() gives it; added tokens come first. None if there is no such token.
  std::optional<int32_t> token_of(std::string_view text) const;
  /// The token that begins a text: bos_token (tokenizer_config.json), else bos_token_id, else prefix()[0].
  std::optional<int32_t> bos() const;
  /// The tokens that end a text, at which generation stops: eos_token of tokenizer_config.json, which ends
  /// documents, then those of generation_config.json or config.json; else <|endoftext|>, if it is special.
  std::vector<int32_t> eos() const;
  /// The texts before which a generated text ends: stop_strings of generation_config.json.
  std::vector<std::string> stop_strings() const;
  /// The tokens that the post_processor of tokenizer.json puts before a text, such as Llama's <s>, and after
  /// it. With them and encode_with_specials(), the tokens are those of Hugging Face's encode().
  std::vector<int32_t> prefix() const;
  std::vector<int32_t> suffix() const;  ///< the tokens after a text, as above; mostly none
  /// The text of chat_template.jinja, or chat_template of tokenizer_config.json; "" without one.
  std::string chat_template() const;

  /// The same tokens and rules with this chat template. Generation stops at its token `end`. Both are saved
  /// in tokenizer_config.json. Throws Error for a token outside [0, vocab_size()).
  Tokenizer with_chat_template(const std::string& text, int32_t end) const;
  /// This tokenizer with a new special token, after the others, for each of the texts that has none. Throws
  /// Error for an empty text, for one that is an ordinary token, and for a tokenizer of a tokenizer.json of
  /// others, which stays as it is.
  Tokenizer with_special(const std::vector<std::string>& texts) const;

  /// This tokenizer with only its first `size` tokens, if the tokens after them are special tokens of byte
  /// pairs and not in eos(); else this tokenizer unchanged. For models that have no rows for such tokens. The
  /// files stay unchanged.
  Tokenizer cut_to(int64_t size) const;

  /// Whether a text with this character can be encoded.
  bool has(char32_t character) const;

  /// The tokens of `text`, without special tokens. Throws Error for kind char if the text is not UTF-8 or has
  /// characters that the vocabulary lacks, naming the first few and their places (counted from 1).
  std::vector<int32_t> encode(std::string_view text) const;
  /// The same, but the text of a special token becomes that token. Not for untrusted text, which could end a
  /// document with it.
  std::vector<int32_t> encode_with_specials(std::string_view text) const;
  /// The tokens of a whole text as a model reads it: prefix(), then encode(text). Throws as encode().
  std::vector<int32_t> encode_from_start(std::string_view text) const;
  /// The text of `tokens`: decode(encode(text)) == text, byte for byte, and decode(a) + decode(b) == decode(a
  /// + b). Tokens of bytes and bpe may end within a character (see DecodeStream). Special tokens give their
  /// text. Throws Error for a token outside [0, vocab_size()).
  std::string decode(std::span<const int32_t> tokens) const;
  /// The number of bytes of text in `tokens`: bits per byte = nats per token / ln 2 * tokens / bytes. Special
  /// tokens have names, which are no bytes of a text. Throws Error for a token outside [0, vocab_size()).
  int64_t byte_count(std::span<const int32_t> tokens) const;

  /// The text of vocab.json: {"tokenizer": "char", "characters": "..."}, token i being the i-th character;
  /// {"tokenizer": "byte"}, both with "special": [...] if there are any; or GPT-2's object of token numbers
  /// by their letters.
  std::string to_json() const;
  /// The text of GPT-2's merges.txt; "" for characters and bytes, which have none.
  std::string to_merges() const;
  /// The text of each token as vocab.json has it (for bpe, in letters), by number; "" if there is none.
  std::vector<std::string> vocabulary() const;
  /// The model and the rules of bpe, for exports (data/pairs/byte_pairs.hpp).
  const pairs::BytePairs& pairs() const { return *pairs_; }
  /// The text of tokenizer.json, with which Hugging Face's `tokenizers` gives the same tokens, but ignores
  /// characters that the vocabulary lacks.
  std::string to_tokenizer_json() const;

  /// Reads what to_json() wrote for characters or bytes. Throws Error, naming `file`, for anything else.
  static Tokenizer from_json(std::string_view json, const std::string& file = "vocab.json");
  /// The tokenizer of GPT-2's files: `vocab`, the text of vocab.json or encoder.json, and `merges`, that of
  /// merges.txt or vocab.bpe. Tokens that are neither bytes nor merged are special. Throws Error, naming the
  /// file and the place, unless all bytes are tokens, and each merge joins bytes or results of earlier
  /// merges.
  static Tokenizer from_gpt2(std::string_view vocab, std::string_view merges,
                             const std::string& vocab_file = "vocab.json",
                             const std::string& merges_file = "merges.txt");
  /// The tokenizer of a tokenizer.json of byte pairs: over bytes (ByteLevel; GPT-2, GPT-4, Llama 3, Qwen,
  /// SmolLM, DeepSeek) or over characters with byte_fallback (Llama 2, Gemma); or what to_tokenizer_json()
  /// wrote. Throws Error, naming the file and the place, for a model or a step that is not supported, and in
  /// a program without the annex `formats`.
  static Tokenizer from_tokenizer_json(std::string_view json, const std::string& file = "tokenizer.json");

  /// The tokenizer of a model of byte pairs (data/pairs/byte_pairs.hpp).
  static Tokenizer of_pairs(pairs::BytePairs pairs);
  /// The same tokens with the prefix() and the suffix() of a tokenizer.json. Its text is written back
  /// unchanged if to_tokenizer_json() would write another text.
  Tokenizer with_json(std::string_view text, std::vector<int32_t> prefix, std::vector<int32_t> suffix) const;

  bool operator==(const Tokenizer& other) const;  ///< whether tokens and rules are equal

 private:
  explicit Tokenizer(std::u32string characters, std::vector<std::string> specials = {})
      : characters_(std::move(characters)), specials_(std::move(specials)) {}
  explicit Tokenizer(pairs::BytePairs pairs);
  using Files = KeptFiles;
  /// Reads tokenizer_config.json and generation_config.json, which `texts` may have.
  Tokenizer with_files(const std::map<std::string, std::string>& texts,
                       const std::filesystem::path& folder) const;
  /// The tokenizer with added tokens by their numbers, which follow its own if it lacks them.
  Tokenizer with_added(const std::map<int32_t, std::string>& added,
                       const std::filesystem::path& folder) const;
  friend Tokenizer read_tokenizer(const files::FolderSnapshot& folder);
  friend std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer);
  void check_tokens(std::span<const int32_t> tokens) const;

  /// The number of characters or bytes, which come before specials_.
  int64_t plain_tokens() const {
    return characters_.empty() ? 256 : static_cast<int64_t>(characters_.size());
  }
  std::string text_of(int32_t token) const;

  std::u32string characters_;                      // ascending; empty for bytes and bpe
  std::vector<std::string> specials_;              // empty for bpe
  std::shared_ptr<const pairs::BytePairs> pairs_;  // null except for bpe
  std::shared_ptr<const Files> files_ = no_files();
  static std::shared_ptr<const Files> no_files();
};

/// Learns a tokenizer of byte pairs, as for GPT-2 (Sennrich et al., arXiv 1508.07909, on bytes): within
/// words, the most frequent pair of tokens becomes a token, repeatedly. Among equally frequent pairs the one
/// with the smaller token numbers is first, so the same texts give the same tokenizer, in any order. Not
/// thread-safe.
class PairTrainer {
 public:
  PairTrainer();
  ~PairTrainer();

  /// Counts the words of a text. Words end at the end of the text.
  void add(std::string_view text);
  /// Returns the bytes in GPT-2's order, the joined tokens, and <|endoftext|>: `vocab_size` tokens, or fewer
  /// if no pair occurs twice. Throws Error for a size out of [Tokenizer::kLeastPairs, Tokenizer::kMostPairs].
  Tokenizer train(int64_t vocab_size) const;

 private:
  std::unique_ptr<pairs::WordCounts> words_;
};

/// Decodes tokens one by one into whole characters. Not thread-safe.
class DecodeStream {
 public:
  /// Borrows the tokenizer.
  explicit DecodeStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// The text that this token completes. Up to three bytes of an incomplete character are kept for the next
  /// call. The returned texts, with that of finish(), are decode() of all tokens, byte for byte. Throws Error
  /// for a token outside the vocabulary.
  std::string step(int32_t token);
  /// Returns the bytes that were kept; call it at the end.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string waiting_;
};

/// The texts of a tokenizer's files by their names.
std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer);

/// Writes the files and their checksums into a folder; makes the folder if it is missing. Throws RunError if
/// writing fails.
void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& folder);

/// Whether a folder has the files of a tokenizer, valid or not.
bool has_tokenizer(const files::FolderSnapshot& folder);

/// The tokenizer in vocab.json of gradus, else tokenizer.json, else GPT-2's in vocab.json or encoder.json.
/// Throws Error, naming the file, if there is none, or if it is damaged.
Tokenizer read_tokenizer(const files::FolderSnapshot& folder);

/// The tokenizer of a folder, as above, or of a tokenizer.json. Throws Error as above.
Tokenizer load_tokenizer(const std::filesystem::path& from);

}  // namespace gradus::data

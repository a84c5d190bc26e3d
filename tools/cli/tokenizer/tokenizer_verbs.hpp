// What `gradus tokenizer` does, a function for each of its verbs. All throw Error for bad input, RunError if
// the disk refuses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

/// `gradus tokenizer train`.
struct TokenizerTrainFlags {
  std::string out;
  std::vector<std::string> text;  ///< files or folders; - is the standard input
  int64_t vocab = 0;
  bool overwrite = false, quiet = false;
};
/// Learns byte pairs and writes their files into a folder.
void train_tokenizer(const TokenizerTrainFlags& flags);

/// `gradus tokenizer encode` and `decode`.
struct TokenizerTextFlags {
  std::string from;
  std::vector<std::string> files;  ///< or folders; none: the standard input; so is -
  std::string bin = {};            ///< encode: a file for all numbers, of 16 bits each; empty: as text
  bool specials = false, json = false;
};
/// A line of numbers for each file, or a list of lists for a list of strings, or a file for all of them.
void encode_texts(const TokenizerTextFlags& flags);
/// The text of the numbers in each file, or a list of strings for a list of lists.
void decode_tokens(const TokenizerTextFlags& flags);

/// `gradus tokenizer info`.
struct TokenizerInfoFlags {
  std::string from;
  std::vector<std::string> text;  ///< files
  bool json = false;
};
/// Kind, size, special and longest tokens, and how many bytes of a text a token has.
void describe_tokenizer(const TokenizerInfoFlags& flags);

}  // namespace gradus::cli

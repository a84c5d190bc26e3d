// The text of a run: files, folders or a corpus, and the tokens made of them; or files of token numbers.
#pragma once

#include <vector>

#include "gradus/data/corpus.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/data/text.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {

/// A text, and where in it each of config.text begins to be another.
struct RunText {
  data::Corpus corpus;        ///< without a text where there are token numbers only
  std::vector<size_t> sizes;  ///< in bytes, of each of config.text, if they have weights
};

/// What the config names: its token numbers, its files, read by `rules`, its corpus, or else the default one.
/// Throws Error if it cannot be had.
RunText load_text(const train::TrainConfig& config, const data::TextRules& rules);

/// The tokens of a run.
class RunTokens {
 public:
  /// Encodes the text, or opens the files of token numbers. Throws Error as the tokenizer and data::Tokens
  /// do.
  RunTokens(const RunText& text, const data::Tokenizer& tokenizer, const train::TrainConfig& config);

  /// In the config's windows, split and drawn as it says. Throws Error as data::TextDataset does.
  data::TextDataset dataset(const train::TrainConfig& config) const;
  const data::Tokens& all() const { return tokens_; }  ///< but those of a file to validate on

 private:
  data::Tokens tokens_, validation_;
  bool has_own_validation_ = false;
  std::vector<data::WeightedPart> parts_;
};

/// How many bytes of text a token to validate on stands for, on average; 1 if there are none.
double bytes_a_token(const data::Tokenizer& tokenizer, const data::TextDataset& dataset);

}  // namespace gradus::cli

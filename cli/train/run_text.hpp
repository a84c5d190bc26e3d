// The text of a run (files, folders or a corpus) and its tokens, or files of token numbers; and samples.
#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "gradus/data/chat.hpp"
#include "gradus/data/corpus.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/data/text.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {

struct RunText {
  data::Corpus corpus;          ///< has no text if the config names token numbers
  std::vector<size_t> sizes{};  ///< bytes of each file or folder of config.text, if they have weights
  std::string validation{};     ///< of config.val_text
  std::optional<size_t> training_bytes{};  ///< of corpus.text, before texts of config.val_text
  /// Of config.text and config.val_text, if they are examples in JSON. corpus.text has the texts of both.
  std::optional<data::Records> examples{}, validation_examples{};
};

/// Reads the token numbers, the files (by `rules`) or the corpus that the config names; else the default
/// corpus. Throws Error if that fails.
RunText load_text(const train::TrainConfig& config, const data::TextRules& rules);

/// The tokens of a run.
class RunTokens {
 public:
  /// Encodes the text, or opens the files of token numbers. Throws Error like the tokenizer and data::Tokens.
  RunTokens(const RunText& text, const data::Tokenizer& tokenizer, const train::TrainConfig& config);

  /// Throws Error like data::TextDataset.
  data::TextDataset dataset(const train::TrainConfig& config) const;
  /// A line each about the widths of token numbers, and about examples that were cut or left out.
  const std::vector<std::string>& notes() const { return notes_; }
  const data::Tokens& all() const { return tokens_; }  ///< without those of a separate validation file

 private:
  void read_examples(const RunText& text, const data::Tokenizer& tokenizer, const train::TrainConfig& config);

  data::Tokens tokens_, validation_;
  bool has_own_validation_ = false;
  std::vector<data::WeightedPart> parts_;
  data::ExampleList examples_[2];  // to train on and to validate on
  std::vector<std::string> notes_;
};

/// Writes a sample of a run. If the dataset has examples, it is the beginning of the first example of
/// `validation` with the model's answer, else a text; the model adds at most `tokens` tokens.
void write_run_sample(const models::Decoder& model, const data::Tokenizer& tokenizer,
                      const data::TextDataset& dataset, const std::vector<data::Batch>& validation,
                      int64_t seed, int64_t tokens, std::ostream& out);

/// The mean number of bytes of text of a target of the validation split; 1 without a split.
double bytes_per_token(const data::Tokenizer& tokenizer, const data::TextDataset& dataset);

}  // namespace gradus::cli

#include "gradus/tools/cli/train/introduction.hpp"

#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/plan.hpp"

namespace gradus::cli {
namespace {

using train::TrainConfig;

std::string text_line(const TrainConfig& config, const data::Corpus& corpus,
                      const data::Tokenizer& tokenizer) {
  const std::string size = config.tokens.empty()
                               ? concat(grouped(static_cast<int64_t>(corpus.text.size())), " bytes")
                               : "token numbers";
  const std::string kind = tokenizer.kind() == "bpe"
                               ? concat("byte pairs of ", grouped(tokenizer.vocab_size()), " tokens")
                               : concat(tokenizer.vocab_size(), " different ", tokenizer.kind(), "s");
  return concat("text    ", corpus.source, ": ", size, ", ", kind);
}

std::string model_line(const TrainConfig& config) {
  const models::DecoderConfig& model = config.model;
  return concat("model   ", config.init_from.empty() ? config.preset : config.init_from,
                model.arch == models::DecoderConfig{}.arch ? "" : concat(", ", model.arch), ": ",
                models::sizes(model), "; ", grouped(model.num_parameters()), " parameters");
}

}  // namespace

std::string introduction(const TrainConfig& config, const data::Corpus& corpus,
                         const data::Tokenizer& tokenizer, const data::TextDataset& dataset) {
  const auto count = [&](data::Split split) { return grouped(dataset.tokens(split).size()); };
  std::string lines = concat(
      text_line(config, corpus, tokenizer), "\nsplit   ", count(data::Split::train), " tokens to train on, ",
      count(data::Split::validation), " to validate on\n", model_line(config), "\nmemory  about ",
      byte_size(train::training_memory(config).total()), ", beside text and evaluations");
  if (config.minutes > 0) {
    const double times = static_cast<double>(config.steps) * train::tokens_a_step(config) /
                         static_cast<double>(dataset.tokens(data::Split::train).size());
    lines += concat("\nplan    ", steps_text(config.steps), " in ", config.minutes,
                    config.minutes == 1 ? " minute" : " minutes", ", dropout ", config.model.dropout,
                    ": the text is read ", decimals(times, 1), " times; corrected on the way");
  }
  return lines;
}

}  // namespace gradus::cli

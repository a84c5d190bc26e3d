#include "text_input.hpp"

#include <filesystem>
#include <vector>

namespace gradus::cli {

data::Corpus load_text(const train::TrainConfig& config, const data::TextRules& rules) {
  if (config.text.empty())
    return config.corpus.empty() ? data::default_corpus() : data::load_corpus(config.corpus);
  const std::vector<std::filesystem::path> files(config.text.begin(), config.text.end());
  data::Text text = data::read_text(files, rules);
  return {.name = files.front().stem().string(),
          .text = std::move(text.text),
          .sha256 = std::move(text.sha256),
          .source = files.front().string() + (files.size() > 1 ? " and others" : ""),
          .entropy = {},
          .warning = text.note()};
}

}  // namespace gradus::cli

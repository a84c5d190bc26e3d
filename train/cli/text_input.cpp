#include "text_input.hpp"

#include <filesystem>
#include <vector>

namespace gradus::cli {

data::Corpus load_text(const train::TrainConfig& config) {
  if (config.text.empty())
    return config.corpus.empty() ? data::default_corpus() : data::load_corpus(config.corpus);
  const std::vector<std::filesystem::path> files(config.text.begin(), config.text.end());
  data::Corpus corpus;
  corpus.name = files.front().stem().string();
  corpus.text = data::read_text(files);
  corpus.source = files.front().string() + (files.size() > 1 ? " and others" : "");
  return corpus;
}

}  // namespace gradus::cli

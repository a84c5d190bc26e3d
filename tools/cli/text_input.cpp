#include "text_input.hpp"

#include <filesystem>
#include <iostream>
#include <iterator>
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

std::string read_prompt(const std::string& flag, const data::Tokenizer& tokenizer) {
  const bool piped = flag == "-";
  std::string bytes = piped ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : flag;
  std::string prompt =
      clean_prompt(piped ? "the prompt on the standard input" : "--prompt", std::move(bytes), tokenizer);
  if (piped && prompt.ends_with('\n')) prompt.pop_back();
  (void)tokenizer.encode(prompt);
  return prompt;
}

std::string clean_prompt(const std::string& name, std::string bytes, const data::Tokenizer& tokenizer) {
  return data::make_text({{name, std::move(bytes)}}, data::TextRules::of(tokenizer)).text;
}

}  // namespace gradus::cli

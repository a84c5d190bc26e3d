#include "gradus/tools/cli/train/run_text.hpp"

#include <algorithm>
#include <filesystem>

#include "gradus/files/error.hpp"
#include "gradus/files/hashes.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using train::TrainConfig;

/// Reads each text separately, to find its end. The checksum is that of all files joined.
RunText load_weighted(const std::vector<fs::path>& paths, const data::TextRules& rules) {
  RunText whole;
  files::Sha256 sha256;
  for (const fs::path& path : paths) {
    std::vector<data::Source> sources;
    for (const fs::path& file : data::text_files({path})) {
      sources.push_back(data::read_source(file));
      sha256.add(sources.back().bytes);
    }
    const data::Text text = data::make_text(sources, rules);
    whole.corpus.text += text.text;
    whole.sizes.push_back(text.text.size());
    if (const std::string note = text.note(); !note.empty())
      whole.corpus.warning += concat(whole.corpus.warning.empty() ? "" : "; ", "of ", path, " ", note);
  }
  whole.corpus.sha256 = sha256.digest();
  return whole;
}

}  // namespace

RunText load_text(const TrainConfig& config, const data::TextRules& rules) {
  std::vector<fs::path> paths(config.text.begin(), config.text.end());
  for (const std::string& tokens : {config.tokens, config.val_tokens})
    if (!tokens.empty()) paths.emplace_back(tokens);
  if (paths.empty())
    return {config.corpus.empty() ? data::default_corpus() : data::load_corpus(config.corpus), {}};

  RunText result;
  data::Corpus& corpus = result.corpus;
  if (!config.tokens.empty()) {
    corpus.sha256 = data::sha256_of_files(paths);
  } else if (!config.text_weights.empty()) {
    result = load_weighted(paths, rules);
  } else {
    data::Text text = data::read_text(paths, rules);
    corpus.warning = text.note();
    corpus.text = std::move(text.text);
    corpus.sha256 = std::move(text.sha256);
  }
  const fs::path& first = paths.front();
  corpus.name = first == "-" ? "stdin" : first.stem().string();
  corpus.source =
      concat(first == "-" ? "the standard input" : first.string(), paths.size() > 1 ? " and others" : "");
  return result;
}

RunTokens::RunTokens(const RunText& text, const data::Tokenizer& tokenizer, const TrainConfig& config) {
  if (!config.tokens.empty()) {
    tokens_ = data::Tokens::open(config.tokens, tokenizer.vocab_size());
    has_own_validation_ = !config.val_tokens.empty();
    if (has_own_validation_) validation_ = data::Tokens::open(config.val_tokens, tokenizer.vocab_size());
    return;
  }
  if (text.sizes.empty()) {
    tokens_ = tokenizer.encode(text.corpus.text);
    return;
  }
  std::vector<int32_t> all;
  std::string_view rest = text.corpus.text;
  for (size_t i = 0; i < text.sizes.size(); ++i) {
    const std::vector<int32_t> some = tokenizer.encode(rest.substr(0, text.sizes[i]));
    rest.remove_prefix(text.sizes[i]);
    all.insert(all.end(), some.begin(), some.end());
    parts_.push_back({static_cast<int64_t>(some.size()), config.text_weights[i]});
  }
  tokens_ = std::move(all);
}

data::TextDataset RunTokens::dataset(const TrainConfig& config) const {
  const int64_t block = config.model.block_size;
  if (has_own_validation_) return {tokens_, validation_, block};
  data::TextDataset dataset(tokens_, block, config.val_fraction);
  if (!parts_.empty()) dataset.weigh(parts_);
  return dataset;
}

double bytes_per_token(const data::Tokenizer& tokenizer, const data::TextDataset& dataset) {
  constexpr int64_t kChunk = 1 << 20;
  const data::Tokens& tokens = dataset.tokens(data::Split::validation);
  if (tokens.empty()) return 1;
  int64_t bytes = 0;
  for (int64_t at = 0; at < tokens.size(); at += kChunk)
    bytes += tokenizer.byte_count(tokens.part(at, std::min(at + kChunk, tokens.size())).values());
  return static_cast<double>(bytes) / static_cast<double>(tokens.size());
}

}  // namespace gradus::cli

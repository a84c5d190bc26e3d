#include "gradus/tools/cli/train/run_text.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "gradus/data/chat.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/models/architecture.hpp"

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

/// The strings of JSONL, one after another: what a tokenizer is made from. Lines that are not objects are
/// left to read_examples().
std::string texts_of(std::string_view jsonl) {
  std::string texts = "system\nuser\nassistant\n";
  while (!jsonl.empty()) {
    const size_t end = std::min(jsonl.find('\n'), jsonl.size());
    const auto json = nlohmann::json::parse(jsonl.substr(0, end), nullptr, /*allow_exceptions=*/false);
    jsonl.remove_prefix(std::min(end + 1, jsonl.size()));
    const auto add = [&](const nlohmann::json& object, const char* key) {
      if (object.is_object() && object.contains(key) && object[key].is_string())
        texts += object[key].get<std::string>() + "\n";
    };
    for (const char* key : {"prompt", "completion", "text"}) add(json, key);
    if (json.is_object() && json.contains("messages") && json["messages"].is_array())
      for (const auto& message : json["messages"]) add(message, "content");
  }
  return texts;
}

}  // namespace

bool has_examples(const TrainConfig& config) {
  const auto is_jsonl = [](const std::string& file) { return fs::path(file).extension() == ".jsonl"; };
  const auto count = std::count_if(config.text.begin(), config.text.end(), is_jsonl);
  const bool has = count > 0;
  if ((has && count < std::ssize(config.text)) ||
      (!config.val_text.empty() && is_jsonl(config.val_text) != has))
    fail("train", "--text and --val-text must all be JSONL or none, got both.");
  if (has && !config.text_weights.empty()) fail("train", "--text-weights must be left out with JSONL.");
  return has;
}

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
    data::Text text = data::read_text(paths, has_examples(config) ? data::TextRules{} : rules);
    corpus.warning = text.note();
    corpus.text = std::move(text.text);
    corpus.sha256 = std::move(text.sha256);
    if (has_examples(config)) {
      if (!corpus.text.ends_with('\n')) corpus.text += '\n';
      result.examples = std::exchange(corpus.text, {});
      corpus.text = texts_of(result.examples);
    }
  }
  if (!config.val_text.empty()) {
    data::Text text = data::read_text({config.val_text}, has_examples(config) ? data::TextRules{} : rules);
    result.validation = std::move(text.text);
    if (has_examples(config)) corpus.text += texts_of(result.validation);
    std::vector<fs::path> files = data::text_files(paths);
    files.emplace_back(config.val_text);
    corpus.sha256 = data::sha256_of_files(files);
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
  has_own_validation_ = !text.validation.empty();
  if (!text.examples.empty()) {
    read_examples(text, tokenizer, config);
    return;
  }
  if (has_own_validation_) validation_ = tokenizer.encode(text.validation);
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

void RunTokens::read_examples(const RunText& text, const data::Tokenizer& tokenizer,
                              const TrainConfig& config) {
  const data::ExampleRules rules{.all_count = config.loss_on != train::kAnswers,
                                 .skips_bad = config.skip_bad,
                                 .most_tokens = config.model.block_size + 1};
  data::Examples read = data::read_examples(text.examples, config.text.front(), tokenizer, rules);
  note_ = read.note();
  std::vector<data::Example>&train = examples_[0], &validation = examples_[1];
  train = std::move(read.examples);
  if (has_own_validation_) {
    validation = data::read_examples(text.validation, config.val_text, tokenizer, rules).examples;
  } else if (config.val_fraction > 0) {
    const auto count =
        static_cast<int64_t>(std::ceil(static_cast<double>(train.size()) * config.val_fraction));
    if (count >= std::ssize(train))
      fail("train", "JSONL must have at least 2 examples, one to validate on, got ", train.size(),
           ". Hint: --val-fraction 0 needs none.");
    validation.assign(train.end() - count, train.end());
    train.resize(train.size() - static_cast<size_t>(count));
  }
  std::vector<int32_t> all;
  for (const data::Example& one : train) all.insert(all.end(), one.tokens.begin(), one.tokens.end());
  tokens_ = std::move(all);
}

data::TextDataset RunTokens::dataset(const TrainConfig& config) const {
  const int64_t block = config.model.block_size;
  if (!examples_[0].empty()) {
    const bool alone = models::architecture(config.model.arch).positions == models::Positions::recurrent;
    return {examples_[0], examples_[1], block, static_cast<uint64_t>(config.seed), alone};
  }
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

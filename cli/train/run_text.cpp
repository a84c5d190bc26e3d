#include "gradus/cli/train/run_text.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "gradus/cli/program/text_output.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/models/architecture.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using train::TrainConfig;

/// Reads config.text and config.val_text: examples, or texts by the rules.
void load_files(const TrainConfig& config, const data::TextRules& rules, RunText& result) {
  using Sources = std::vector<data::Source>;
  std::vector<Sources> parts;  // of the text: each path with a weight, or all together
  if (config.text_weights.empty())
    parts.push_back(data::read_sources({config.text.begin(), config.text.end()}));
  else
    for (const std::string& path : config.text) parts.push_back(data::read_sources({path}));
  Sources own;
  if (!config.val_text.empty()) own = data::read_sources({config.val_text});
  files::Sha256 sum;
  for (const Sources& part : parts)
    for (const data::Source& source : part) sum.add(source.bytes);
  for (const data::Source& source : own) sum.add(source.bytes);
  result.corpus.sha256 = sum.digest();

  const auto is_other = [&, first = data::are_examples(parts[0])](const Sources& some) {
    return !some.empty() && data::are_examples(some) != first;
  };
  if (std::ranges::any_of(parts, is_other) || is_other(own))
    fail("train", "--text and --val-text must all be JSONL or none, got both.");
  if (data::are_examples(parts[0])) {
    result.examples = data::read_records(parts[0], rules, config.skip_bad);
    result.corpus.text = data::texts_of(*result.examples);
    if (own.empty()) return;
    result.training_bytes = result.corpus.text.size();
    result.validation_examples = data::read_records(own, rules, config.skip_bad);
    result.corpus.text += data::texts_of(*result.validation_examples);
    return;
  }
  const auto text_of = [&](Sources some, const std::string& of) {
    data::Text text = data::make_text(some, rules);
    std::string& notes = result.corpus.warning;
    if (const std::string note = text.note(); !note.empty())
      notes += concat(notes.empty() ? "" : "; ", of.empty() ? "" : concat("of ", fs::path(of), " "), note);
    return std::move(text.text);
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool has_weights = !config.text_weights.empty();
    const std::string text = text_of(std::move(parts[i]), has_weights ? config.text[i] : "");
    result.corpus.text += text;
    if (has_weights) result.sizes.push_back(text.size());
  }
  if (own.empty()) return;
  result.training_bytes = result.corpus.text.size();
  result.validation = text_of(std::move(own), config.val_text);
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
  } else {
    load_files(config, rules, result);
  }
  const fs::path& first = paths.front();
  corpus.name = first == "-" ? "stdin" : first.stem().string();
  corpus.source =
      concat(first == "-" ? "the standard input" : first.string(), paths.size() > 1 ? " and others" : "");
  return result;
}

RunTokens::RunTokens(const RunText& text, const data::Tokenizer& tokenizer, const TrainConfig& config) {
  if (!config.tokens.empty()) {
    const auto opened = [&](const std::string& file) {
      data::Tokens tokens = data::Tokens::open(file, tokenizer.vocab_size());
      if (tokens.bits() != 16)
        notes_.push_back(concat(fs::path(file), " is read as numbers of ", tokens.bits(), " bits"));
      return tokens;
    };
    tokens_ = opened(config.tokens);
    has_own_validation_ = !config.val_tokens.empty();
    if (has_own_validation_) validation_ = opened(config.val_tokens);
    return;
  }
  has_own_validation_ = !text.validation.empty() || text.validation_examples;
  if (text.examples) {
    read_examples(text, tokenizer, config);
    return;
  }
  if (has_own_validation_) validation_ = tokenizer.encode_from_start(text.validation);
  if (text.sizes.empty()) {
    tokens_ = tokenizer.encode_from_start(text.corpus.text);
    return;
  }
  std::vector<int32_t> all;
  std::string_view rest = text.corpus.text;
  for (size_t i = 0; i < text.sizes.size(); ++i) {
    const std::vector<int32_t> some = tokenizer.encode_from_start(rest.substr(0, text.sizes[i]));
    rest.remove_prefix(text.sizes[i]);
    all.insert(all.end(), some.begin(), some.end());
    parts_.push_back({static_cast<int64_t>(some.size()), config.text_weights[i]});
  }
  tokens_ = std::move(all);
}

void RunTokens::read_examples(const RunText& text, const data::Tokenizer& tokenizer,
                              const TrainConfig& config) {
  const data::ExampleRules rules{.chat_format = config.chat_format,
                                 .all_count = config.loss_on == train::LossOn::all,
                                 .skips_bad = config.skip_bad,
                                 .most_tokens = config.model.block_size + 1};
  const auto noted = [&](const data::Records& records, const char* what) {
    data::Examples read = data::read_examples(records, tokenizer, rules);
    if (const std::string note = read.note(); !note.empty()) notes_.push_back(what + note);
    return read.examples;
  };
  data::ExampleList &train = examples_[0], &validation = examples_[1];
  train = noted(*text.examples, "");
  if (has_own_validation_) {
    validation = noted(*text.validation_examples, "of --val-text, ");
  } else if (config.val_fraction > 0) {
    const auto count =
        static_cast<int64_t>(std::ceil(static_cast<double>(train.size()) * config.val_fraction));
    if (count >= std::ssize(train))
      fail("train", "JSONL must have at least 2 examples, one to validate on, got ", train.size(),
           ". Hint: --val-fraction 0 needs none.");
    const size_t kept = train.size() - static_cast<size_t>(count);
    validation = train.part(kept, train.size());
    train = train.part(0, kept);
  }
  tokens_ = train.tokens();
}

data::TextDataset RunTokens::dataset(const TrainConfig& config) const {
  const int64_t block = config.model.block_size;
  if (!examples_[0].empty()) {
    const bool alone = models::architecture(config.model.arch).positions == models::Positions::recurrent;
    return {examples_[0], examples_[1], block, static_cast<uint64_t>(config.seed), alone};
  }
  data::TextDataset dataset = has_own_validation_ ? data::TextDataset(tokens_, validation_, block)
                                                  : data::TextDataset(tokens_, block, config.val_fraction);
  if (!parts_.empty()) dataset.weigh(parts_);
  return dataset;
}

void write_run_sample(const models::Decoder& model, const data::Tokenizer& tokenizer,
                      const data::TextDataset& dataset, const std::vector<data::Batch>& validation,
                      int64_t seed, int64_t tokens, std::ostream& out) {
  Generator stream = Generator(static_cast<uint64_t>(seed)).stream("sample");
  const models::SampleOptions options{.max_new_tokens = tokens, .temperature = 0.8};
  if (!dataset.has_examples() || validation.empty())
    return write_sample(model, tokenizer, "", options, stream, out);
  std::vector<int64_t> prompt = validation[0].x.select(0, 0).to_vector<int64_t>();
  const std::vector<int64_t> targets = validation[0].y.select(0, 0).to_vector<int64_t>();
  const auto first = std::ranges::find_if(targets, [](int64_t y) { return y != data::kNoTarget; });
  prompt.resize(static_cast<size_t>(first - targets.begin()) + 1);
  out << tokenizer.decode(std::vector<int32_t>(prompt.begin(), prompt.end()));
  write_continuation(model, tokenizer, prompt, options, stream, out);
}

double bytes_per_token(const data::Tokenizer& tokenizer, const data::TextDataset& dataset) {
  constexpr int64_t kChunk = 1 << 20;
  const data::Tokens& tokens = dataset.tokens(data::Split::validation);
  if (tokens.empty()) return 1;
  int64_t bytes = 0;
  if (dataset.has_examples()) {
    std::vector<int32_t> targets;
    for (const data::Batch& batch : dataset.validation_batches(1))
      for (const int64_t target : batch.y.to_vector<int64_t>())
        if (target != data::kNoTarget) targets.push_back(static_cast<int32_t>(target));
    return static_cast<double>(tokenizer.byte_count(targets)) / static_cast<double>(targets.size());
  }
  for (int64_t at = 0; at < tokens.size(); at += kChunk)
    bytes += tokenizer.byte_count(tokens.part(at, std::min(at + kChunk, tokens.size())).values());
  return static_cast<double>(bytes) / static_cast<double>(tokens.size());
}

}  // namespace gradus::cli

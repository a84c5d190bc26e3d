#include "gradus/train/text_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/optimizers/adamw.hpp"

namespace gradus::train {
namespace {

/// log(sum of exp(x))
double log_sum(const std::vector<double>& x) {
  const double largest = *std::ranges::max_element(x);
  double sum = 0;
  for (const double value : x) sum += std::exp(value - largest);
  return std::log(sum) + largest;
}

}  // namespace

AdaptiveDecoder::AdaptiveDecoder(const models::Decoder& model, double rate)
    : model_(rate > 0 ? nn::deep_copy(model) : model), rate_(rate) {
  model_.eval();
  if (rate <= 0) return;
  parameters_ = model_.parameters();
  for (const Tensor& parameter : parameters_) first_.push_back(parameter.detach() * 1.0);
  optimizer_ =
      std::make_unique<AdamW>(model_.named_parameters(), AdamWOptions{.beta1 = 0, .weight_decay = 0});
}

void AdaptiveDecoder::learn(const Tensor& losses) {
  if (!learns()) return;
  sum(losses).backward();
  optimizer_->step(rate_ / static_cast<double>(model_.config().n_embd));
  optimizer_->zero_grad();
  const NoGrad no_grad;
  for (size_t i = 0; i < first_.size(); ++i)
    parameters_[i].copy_(parameters_[i] + (first_[i] - parameters_[i]) * (kReturn * rate_));
}

double TextScores::others_of(std::vector<double> logits, int64_t token, double loss) {
  const double its =
      std::exchange(logits.at(static_cast<size_t>(token)), -std::numeric_limits<double>::infinity());
  return std::exp(log_sum(logits) - its - loss);
}

void TextScores::add(AdaptiveDecoder& decoder, const data::Example& text, int64_t stride) {
  std::optional<NoGrad> no_grad;
  if (!decoder.learns()) no_grad.emplace();
  const models::DecoderConfig& config = decoder.model().config();
  const int64_t count = std::ssize(text.tokens) - 1;
  const int64_t at_once = decoder.learns() ? 1 : evaluation_batch(config);
  for (int64_t begin = 0, done = 0; done < count;) {
    const int64_t length = std::min(config.block_size, count - begin);
    const int64_t windows = std::min(at_once, (count - begin - length) / stride + 1);
    std::vector<int64_t> x, y, rows, checked;  // rows of the logits: those that count here, and of these
    for (int64_t i = 0; i < windows; ++i, begin += stride) {
      const auto first = text.tokens.begin() + begin;
      x.insert(x.end(), first, first + length);
      y.insert(y.end(), first + 1, first + length + 1);
      for (; done < begin + length; ++done) {
        if (!text.counts[static_cast<size_t>(done + 1)]) continue;
        rows.push_back(i * length + done - begin);
        if ((std::ssize(losses) + std::ssize(rows) - 1) % kChecked == 0) checked.push_back(rows.back());
      }
    }
    std::vector<Tensor> logits;  // of the rows in `checked`
    int64_t before = 0;          // rows of earlier calls
    const auto keep = [&](const Tensor& part) {
      for (size_t i = logits.size(); i < checked.size() && checked[i] < before + part.size(0); ++i)
        logits.push_back(part.select(0, checked[i] - before).to(DType::float64));
      before += part.size(0);
    };
    const Tensor all =
        decoder.model().losses(tensor(x, {windows, length}), tensor(y, {windows, length}), keep);
    const std::vector<float> nats = all.detach().to_vector<float>();
    for (const int64_t row : rows) losses.push_back(nats[static_cast<size_t>(row)]);
    for (size_t i = 0; i < checked.size(); ++i) {
      const auto row = static_cast<size_t>(checked[i]);
      others.push_back(others_of(logits[i].to_vector<double>(), y[row], nats[row]));
    }
    if (decoder.learns() && !rows.empty())
      decoder.learn(index_select(all, 0, tensor(rows, {std::ssize(rows)})));
  }
}

double TextScores::largest_sum_deviation() const {
  double largest = 0;
  for (size_t i = 0; i < others.size(); ++i)
    largest = std::max(largest, std::abs(std::exp(-losses[i * kChecked]) + others[i] - 1));
  return largest;
}

TextScores mixture_of(const std::vector<TextScores>& models, bool learned) {
  TextScores mixture;
  std::vector<double> weights(models.size()), terms(models.size());  // logarithms
  for (size_t i = 0; i < models.at(0).losses.size(); ++i) {
    for (size_t k = 0; k < models.size(); ++k) terms[k] = weights[k] - models[k].losses[i];
    mixture.losses.push_back(log_sum(weights) - log_sum(terms));
    if (i % TextScores::kChecked == 0) {
      double others = 0;
      for (size_t k = 0; k < models.size(); ++k)
        others += std::exp(weights[k] - log_sum(weights)) * models[k].others[i / TextScores::kChecked];
      mixture.others.push_back(others);
    }
    if (learned) weights = terms;
  }
  return mixture;
}

TextScores scores_of(const models::Decoder& model, const data::ExampleList& texts, int64_t stride,
                     bool adapt) {
  std::vector<TextScores> all;
  for (const double rate : AdaptiveDecoder::kRates) {
    if (rate > 0 && !adapt) continue;
    AdaptiveDecoder decoder(model, rate);
    all.emplace_back();
    for (const data::Example& text : texts) all.back().add(decoder, text, stride);
  }
  return mixture_of(all, /*learned=*/true);
}

TextReader::TextReader(const models::Decoder& model, bool adapt)
    : probabilities_(static_cast<size_t>(model.config().vocab_size),
                     1.0 / static_cast<double>(model.config().vocab_size)) {
  for (const double rate : AdaptiveDecoder::kRates)
    if (adapt || rate == 0) members_.push_back({{model, rate}, model.make_state(), probabilities_});
}

void TextReader::read(int64_t token) {
  window_.push_back(token);
  const int64_t block = members_.front().decoder.model().config().block_size;
  const bool full = std::ssize(window_) > block;
  std::vector<double> weights;
  for (Member& m : members_) {
    m.weight += std::log(m.probabilities.at(static_cast<size_t>(token)));
    weights.push_back(m.weight);
    if (full && m.decoder.learns()) {
      const Tensor all = tensor(window_, {1, block + 1});
      m.decoder.learn(m.decoder.model().losses(all.slice(1, 0, block), all.slice(1, 1, block + 1)));
    }
    if (full) m.state->clear();
    const Tensor logits = m.decoder.model().decode(tensor(std::vector<int64_t>{token}, {1, 1}), *m.state);
    m.probabilities = models::next_token_probabilities(logits.select(0, 0), {});
  }
  if (full) window_ = {token};
  std::ranges::fill(probabilities_, 0.0);
  for (const Member& m : members_) {
    const double weight = std::exp(m.weight - log_sum(weights));
    for (size_t t = 0; t < probabilities_.size(); ++t) probabilities_[t] += weight * m.probabilities[t];
  }
}

}  // namespace gradus::train

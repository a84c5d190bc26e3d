#include "gradus/tools/look/heads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/nn/watch.hpp"

namespace gradus::look {
namespace {

constexpr int64_t kRepeated = 64;

/// (T, V)
Tensor logits_of(const models::Decoder& model, const std::vector<int64_t>& tokens) {
  return model(tensor(tokens, {1, std::ssize(tokens)})).select(0, 0);
}

/// The attention (nh, T, T) of each layer; none for a decoder without attention.
std::vector<Tensor> attention_of(models::Decoder& model, const std::vector<int64_t>& tokens) {
  const models::Architecture& arch = models::architecture(model.config().arch);
  const nn::Activations seen = nn::watch(model, {models::own_name(arch, "h.*.attn.pattern")});
  logits_of(model, tokens);
  std::vector<Tensor> layers;
  for (const std::string& name : seen.names())
    layers.push_back(seen[name].select(0, 0).to(DType::float32).contiguous());
  return layers;
}

/// Fills in the means over positions 1 to T - 1.
void measure(Head& head) {
  const int64_t T = head.attention.size(0);
  std::vector<double> distances, entropies, previous, first;
  for (int64_t t = 1; t < T; ++t) {
    const float* const row = head.attention.data<float>() + t * T;
    double distance = 0, entropy = 0;
    for (int64_t s = 0; s <= t; ++s) {
      const double weight = row[s];
      distance += weight * static_cast<double>(t - s);
      if (weight > 0) entropy -= weight * std::log(weight);
    }
    distances.push_back(distance);
    entropies.push_back(entropy);
    previous.push_back(row[t - 1]);
    first.push_back(row[0]);
  }
  head.distance = mean_of(distances);
  head.entropy = mean_of(entropies);
  head.previous = mean_of(previous);
  head.first = mean_of(first);
}

}  // namespace

Prediction predict(std::string name, const Tensor& logits, const std::vector<int64_t>& tokens) {
  const Tensor log_p = log_softmax(logits.to(DType::float64), 1);
  Prediction out{.name = std::move(name), .likeliest = {}, .probabilities = {}, .losses = {}};
  for (int64_t t = 0; t < logits.size(0); ++t) {
    const Tensor row = log_p.select(0, t);
    const int64_t best = static_cast<int64_t>(argmax(row, 0).item());
    out.likeliest.push_back(best);
    out.probabilities.push_back(std::exp(row.at({best})));
    if (t + 1 < logits.size(0)) out.losses.push_back(-row.at({tokens[static_cast<size_t>(t) + 1]}));
  }
  return out;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<Head> heads_of(models::Decoder& model, const std::vector<int64_t>& tokens) {
  const NoGrad no_grad;
  const nn::EvaluationMode mode(model);
  const models::Architecture& arch = models::architecture(model.config().arch);
  const std::vector<Tensor> layers = attention_of(model, tokens);
  if (layers.empty()) return {};
  const std::vector<Tensor> repeated = attention_of(model, repeated_tokens(model.config()));

  std::vector<Head> heads;
  for (int64_t i = 0; i < std::ssize(layers); ++i)
    for (int64_t h = 0; h < model.config().n_head; ++h) {
      Head head{.name = models::own_name(arch, concat("h.", i, ".attn.head.", h)), .layer = i, .head = h};
      head.attention = layers[static_cast<size_t>(i)].select(0, h);
      measure(head);
      head.induction = induction_score(repeated[static_cast<size_t>(i)].select(0, h));
      const auto without = nn::Intervention::ablate(model, {head.name});
      head.losses = predict("", logits_of(model, tokens), tokens).losses;
      heads.push_back(std::move(head));
    }
  return heads;
}

std::vector<int64_t> repeated_tokens(const models::DecoderConfig& config) {
  Generator generator(0);
  const int64_t L = std::max<int64_t>(1, std::min(kRepeated, config.block_size / 2));
  const Tensor drawn = randint(0, config.vocab_size, {L}, generator);
  std::vector<int64_t> tokens = cat({drawn, drawn}, 0).to_vector<int64_t>();
  tokens.resize(static_cast<size_t>(std::min(2 * L, config.block_size)));
  return tokens;
}

double induction_score(const Tensor& attention) {
  const int64_t L = attention.size(0) / 2;
  if (L < 2) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (int64_t t = L; t < 2 * L; ++t) sum += attention.at({t, t - L + 1});
  return sum / static_cast<double>(L);
}

}  // namespace gradus::look

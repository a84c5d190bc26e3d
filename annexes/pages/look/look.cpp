#include "gradus/annexes/pages/look/look.hpp"

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

constexpr int64_t kTop = 10;

std::vector<double> numbers(const Tensor& x) {
  const Tensor packed = x.to(DType::float64).contiguous();
  return {packed.data<double>(), packed.data<double>() + packed.numel()};
}

/// Names of the points of block i that add to the residual stream.
struct BlockNames {
  BlockNames(const models::Architecture& arch, int64_t i)
      : block(models::own_name(arch, concat("h.", i))),
        mixer(models::own_name(arch, concat("h.", i, ".attn"))),
        projection(models::own_name(arch, concat("h.", i, ".attn.c_proj"))) {}
  std::string pre() const { return block + ".resid_pre"; }
  std::string mid() const { return block + ".resid_mid"; }
  std::string head(int64_t h) const { return concat(mixer, ".head.", h); }

  std::string block, mixer, projection;
};

constexpr double kRounding = 1e-4;  // relative to the largest number that a mixer adds

/// Shares of the terms of the residual stream, which `seen` has.
std::vector<Share> shares_of(const models::Decoder& model, const nn::Activations& seen,
                             const std::vector<int64_t>& targets, const Tensor& target_logits) {
  const models::DecoderConfig& config = model.config();
  const models::Architecture& arch = models::architecture(config.arch);
  const nn::StateDict state = model.state_dict();
  const Tensor index = tensor(targets, {1, static_cast<int64_t>(targets.size())});
  const Tensor features = seen[BlockNames(arch, config.n_layer - 1).block];
  std::vector<Share> shares;
  Tensor total = zeros(target_logits.shape(), target_logits.dtype());
  const auto add = [&](const std::string& name, const Tensor& term) {
    const Tensor share = model.logit_share(term, features, index).select(0, 0);
    total = total + share;
    shares.push_back({name, numbers(share)});
  };
  add(models::own_name(arch, "wte"), seen[BlockNames(arch, 0).pre()]);
  for (int64_t i = 0; i < config.n_layer; ++i) {
    const BlockNames names(arch, i);
    const Tensor mid = seen[names.mid()], mixed = mid - seen[names.pre()];
    const auto weight = state.find(names.projection + ".weight"),
               bias = state.find(names.projection + ".bias");
    if (arch.has_outer_norms || !seen.contains(names.head(0)) || weight == state.end() ||
        !is_floating(weight->second.dtype())) {
      add(names.mixer, mixed);
    } else {
      const int64_t size = weight->second.size(1) / config.n_head;
      std::vector<std::pair<std::string, Tensor>> terms;
      for (int64_t h = 0; h < config.n_head; ++h)
        terms.emplace_back(names.head(h),
                           linear(seen[names.head(h)], weight->second.slice(1, h * size, (h + 1) * size)));
      if (bias != state.end()) terms.emplace_back(bias->first, bias->second.expand(mixed.shape()));
      Tensor rest = mixed;
      for (const auto& [name, term] : terms) rest = rest - term;
      // An intervention may have replaced what the heads add.
      if (amax(abs(rest)).item() > kRounding * amax(abs(mixed)).item()) terms = {{names.mixer, mixed}};
      for (const auto& [name, term] : terms) add(name, term);
    }
    add(names.block + ".mlp", seen[names.block] - mid);
  }
  if (const std::string bias = models::own_name(arch, "ln_f.bias"); state.contains(bias))
    shares.push_back({bias, numbers(target_logits - total)});
  return shares;
}

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

std::vector<std::string> points_of(models::Decoder& model) {
  const NoGrad no_grad;
  const nn::EvaluationMode mode(model);
  const nn::Activations seen = nn::watch(model, {});
  model(zeros({1, 1}, DType::int64));
  return seen.points();
}

std::vector<std::string> own_points(models::Decoder& model, std::string_view flag,
                                    std::vector<std::string> patterns) {
  const std::vector<std::string> points = patterns.empty() ? patterns : points_of(model);
  for (std::string& pattern : patterns) {
    const std::string own = models::own_name(models::architecture(model.config().arch), pattern);
    if (std::ranges::none_of(points, [&](const std::string& point) {
          return nn::matches(own, point) || nn::matches(own, point + ".out");
        }))
      fail("look", flag, " must match a point of the model, got '", pattern,
           "'. Hint: --list prints the points; * is any text.");
    pattern = own;
  }
  return patterns;
}

Look look_at(models::Decoder& model, const std::vector<int64_t>& tokens,
             const std::vector<std::string>& patterns, bool with_heads) {
  const NoGrad no_grad;
  const nn::EvaluationMode mode(model);
  const models::Architecture& arch = models::architecture(model.config().arch);
  const int64_t T = static_cast<int64_t>(tokens.size()), layers = model.config().n_layer;

  std::vector<std::string> stream;
  for (int64_t i = 0; i < layers; ++i) {
    const BlockNames names(arch, i);
    stream.insert(stream.end(), {names.pre(), names.mid(), names.block, names.mixer + ".head.*"});
  }
  const nn::Activations inner = nn::watch(model, stream), seen = nn::watch(model, patterns);
  const Tensor logits = model(tensor(tokens, {1, T})).select(0, 0);  // (T, V)

  Look out;
  out.tokens = tokens;
  out.prediction = predict("out", logits, tokens);
  const auto top = topk(softmax(logits.to(DType::float64), 1), std::min(kTop, logits.size(1)), 1);
  out.top = top.indices;
  out.top_probabilities = top.values;
  const auto predict_from = [&](const std::string& name) {
    out.lens.push_back(predict(name, model.logits(inner[name]).select(0, 0), tokens));
  };
  predict_from(BlockNames(arch, 0).pre());
  for (int64_t i = 0; i < layers; ++i) predict_from(BlockNames(arch, i).block);

  out.targets.assign(tokens.begin() + 1, tokens.end());
  out.targets.push_back(out.prediction.likeliest.back());
  const Tensor target_logits = gather(logits, 1, tensor(out.targets, {T, 1})).squeeze(1);
  out.target_logits = numbers(target_logits);
  out.shares = shares_of(model, inner, out.targets, target_logits);
  for (const std::string& name : seen.names()) out.activations.emplace_back(name, seen[name]);
  if (with_heads) out.heads = heads_of(model, tokens);
  return out;
}

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

#include "gradus/models/decoder.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::models {
namespace {

constexpr double kInitStd = 0.02;
constexpr int64_t kIgnored = -100;  // the target of a position that does not count

bool is_residual_projection(std::string_view name) {
  return name.ends_with("c_proj.weight") || name.ends_with("o_proj.weight") ||
         name.ends_with("down_proj.weight");
}

// Radford et al., 2019, section 2.3: the residual stream sums 2 n_layer projections, so each starts smaller.
void draw_initial_values(Decoder& model, Generator& generator) {
  const double residual_std = kInitStd / std::sqrt(2.0 * static_cast<double>(model.config().n_layer));
  for (auto& [name, parameter] : model.named_parameters()) {
    if (parameter.dim() == 2) {
      nn::normal_(parameter, 0.0, is_residual_projection(name) ? residual_std : kInitStd, generator);
    } else if (std::string_view(name).ends_with(".bias")) {
      nn::zeros_(parameter);
    }
  }
}

/// Throws Error unless idx can follow `start` tokens.
void check_sequence(const Tensor& idx, int64_t start, const DecoderConfig& config) {
  if (idx.dim() != 2) fail("decoder", "idx must be (B, T), got ", idx.shape(), ".");
  const int64_t end = start + idx.size(1);
  if (idx.size(1) < 1 || end > config.context_limit())
    fail("decoder", "a sequence must have 1 to block_size = ", config.block_size, " tokens, got ", end,
         ". Hint: cut it, or train a model with a larger block_size.");
}

/// The targets that count. Logits take most of the memory where the vocabulary is large and few count.
struct Counted {
  explicit Counted(const Tensor& all) : targets(all.flatten()) {
    std::vector<int64_t> places;
    const std::vector<int64_t> values = targets.to_vector<int64_t>();
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] != kIgnored) places.push_back(static_cast<int64_t>(i));
    if (places.size() == values.size()) return;
    index = tensor(places, {std::ssize(places)});
    targets = index_select(targets, 0, index);
  }
  /// The features of these: (B, T, C) -> (N, C), or itself if all count.
  Tensor of(const Tensor& features) const {
    return index.defined() ? index_select(features.flatten(0, 1), 0, index) : features;
  }

  Tensor targets;  // (N)
  Tensor index{};  // of (B T); undefined: all
};

}  // namespace

Decoder::Decoder(const DecoderConfig& config, Generator& init)
    : config_(config), backbone_(make_backbone(config, init)) {
  draw_initial_values(*this, init);
}

Decoder::Decoder(const Decoder& other)
    : nn::Module(other), config_(other.config_), backbone_(other.backbone_->clone()) {}

Tensor Decoder::operator()(const Tensor& idx, Generator* dropout) const {
  check_sequence(idx, 0, config_);
  return output(backbone_->logits(backbone_->features(idx, dropout, {})));
}

Tensor Decoder::features_of(const Tensor& idx, const Tensor& targets, Generator* dropout,
                            const Tensor& starts) const {
  if (targets.shape() != idx.shape())
    fail("decoder", "targets must have the shape of idx, got ", targets.shape(), " and ", idx.shape(), ".");
  check_sequence(idx, 0, config_);
  // Its state reads on through a row; what follows the first sequence can only be padding.
  if (starts.defined() && config_.context_limit() > config_.block_size &&
      amax(starts * ne(targets, kIgnored).to(DType::int64)).item() > 0)
    fail("decoder", "a recurrent decoder must read one sequence a row, got several.");
  return backbone_->features(idx, dropout, starts);
}

Tensor Decoder::losses_of(const Tensor& features, const Tensor& targets,
                          const std::function<void(const Tensor&)>& use) const {
  const auto losses_of_part = [&](const Tensor& part, const Tensor& its_targets) {
    const Tensor logits = output(backbone_->logits(part)).reshape({-1, config_.vocab_size});
    if (use) use(logits.detach());
    return cross_entropy(logits, its_targets, kIgnored, Reduction::none);
  };
  const int64_t rows = targets.numel(), at_once = std::max<int64_t>(1, kMostLogits / config_.vocab_size);
  if (grad_enabled() || rows <= at_once) return losses_of_part(features, targets);
  const Tensor x = features.reshape({rows, -1});
  std::vector<Tensor> losses;
  for (int64_t begin = 0; begin < rows; begin += at_once) {
    const int64_t end = std::min(begin + at_once, rows);
    losses.push_back(losses_of_part(x.slice(0, begin, end), targets.slice(0, begin, end)));
  }
  return cat(losses, 0);
}

Tensor Decoder::losses(const Tensor& idx, const Tensor& targets, Generator* dropout,
                       const Tensor& starts) const {
  return losses_of(features_of(idx, targets, dropout, starts), targets.flatten());
}

Tensor Decoder::losses(const Tensor& idx, const Tensor& targets,
                       const std::function<void(const Tensor&)>& use) const {
  return losses_of(features_of(idx, targets, nullptr, {}), targets.flatten(), use);
}

Tensor Decoder::loss(const Tensor& idx, const Tensor& targets, Generator* dropout,
                     const Tensor& starts) const {
  const Counted counted(targets);
  const Tensor x = counted.of(features_of(idx, targets, dropout, starts));
  return sum(losses_of(x, counted.targets)) / static_cast<double>(counted.targets.numel());
}

Tensor Decoder::distillation_loss(const Tensor& idx, const Tensor& targets, const Decoder& teacher,
                                  const LossSettings& settings, Generator& random,
                                  const Tensor& starts) const {
  const Counted counted(targets);
  const int64_t count = counted.targets.numel();
  const double weight = settings.teacher_weight;
  const Tensor x = counted.of(features_of(idx, targets, &random, starts));
  Tensor probabilities;
  {
    const NoGrad no_grad;
    const Backbone& member = teacher.backbone_->drawn_member(random);
    const Tensor its = member.logits(counted.of(member.features(idx, nullptr, starts)));
    probabilities = softmax(its.reshape({count, config_.vocab_size}), -1) * weight;
    probabilities = scatter_add(probabilities, 1, counted.targets.unsqueeze(1),
                                full({count, 1}, 1 - weight, its.dtype()));
  }
  const Tensor logits = output(backbone_->logits(x)).reshape({count, config_.vocab_size});
  return cross_entropy(logits, probabilities, CrossEntropyOptions{});
}

Tensor Decoder::next_features(const Tensor& idx, DecodingState& state) const {
  check_sequence(idx, state.length, config_);
  const Tensor x = backbone_->next_features(idx, state);
  state.length += idx.size(1);
  return x;
}

Tensor Decoder::decode(const Tensor& idx, DecodingState& state) const {
  const NoGrad no_grad;
  int64_t begin = 0;  // Without a context limit, a long text is read in parts, which takes less memory.
  if (idx.dim() == 2 && config_.context_limit() > config_.block_size)
    for (; idx.size(1) - begin > config_.block_size; begin += config_.block_size)
      next_features(idx.slice(1, begin, begin + config_.block_size), state);
  const Tensor x = next_features(begin == 0 ? idx : idx.slice(1, begin, idx.size(1)), state);
  return backbone_->logits(x.select(1, -1));  // only the last position: (B, C) -> (B, V)
}

Tensor Decoder::decode_all(const Tensor& idx, DecodingState& state) const {
  const NoGrad no_grad;
  return backbone_->logits(next_features(idx, state));
}

bool Decoder::can_draft() const {
  constexpr int64_t kLeast = 400;  // The bits of products of smaller matrices depend on their number of rows.
  const int64_t kv_width = config_.head_size() * config_.kv_heads();
  return config_.context_limit() == config_.block_size &&
         config_.n_embd * std::min({kv_width, config_.n_embd, config_.vocab_size}) >= kLeast;
}

}  // namespace gradus::models

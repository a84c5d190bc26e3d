#include "gradus/models/ensemble.hpp"

#include <algorithm>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"

namespace gradus::models {
namespace {

struct EnsembleState final : DecodingState {
  std::vector<std::unique_ptr<DecodingState>> members;

  void truncate(int64_t end) override {
    for (const auto& member : members) member->truncate(end);
    length = std::min(length, end);
  }
};

/// Members whose features are side by side, (B, T, n_member * C).
class Ensemble final : public Backbone {
 public:
  Ensemble(const DecoderConfig& config, Generator& init) : width_(config.n_embd) {
    DecoderConfig one = config;
    one.n_member = 1;
    for (int64_t i = 0; i < config.n_member; ++i) members_.push_back(make_backbone(one, init));
  }
  Ensemble(const Ensemble& other) : Backbone(other), width_(other.width_) {
    for (const auto& member : other.members_) members_.push_back(member->clone());
  }

  Tensor features(const Tensor& idx, Generator* dropout, const Tensor& starts) const override {
    return side_by_side([&](size_t i) { return members_[i]->features(idx, dropout, starts); });
  }
  Tensor logits(const Tensor& features) const override {
    std::vector<Tensor> all;
    for (size_t i = 0; i < members_.size(); ++i) {
      const auto begin = static_cast<int64_t>(i) * width_;
      all.push_back(log_softmax(members_[i]->logits(features.slice(-1, begin, begin + width_)), -1));
    }
    // logsumexp() over the members, by passes over whole tensors instead of rows of a few numbers.
    Tensor most = all[0].detach(), total;
    for (const Tensor& one : all) most = maximum(most, one.detach());
    for (const Tensor& one : all) total = total.defined() ? total + exp(one - most) : exp(one - most);
    return log(total / static_cast<double>(members_.size())) + most;
  }
  const Backbone& drawn_member(Generator& random) const override {
    return *members_[static_cast<size_t>(random.below(std::ssize(members_)))];
  }
  Tensor logit_share(const Tensor&, const Tensor&, const Tensor&) const override {
    fail("ensemble", "the logits of an ensemble are no sums over one residual stream. Hint: take a member.");
  }

  std::unique_ptr<DecodingState> make_state(int64_t batch) const override {
    auto state = std::make_unique<EnsembleState>();
    for (const auto& member : members_) state->members.push_back(member->make_state(batch));
    return state;
  }
  Tensor next_features(const Tensor& idx, DecodingState& state) const override {
    auto& states = dynamic_cast<EnsembleState&>(state).members;
    return side_by_side([&](size_t i) {
      const Tensor x = members_[i]->next_features(idx, *states[i]);
      states[i]->length += idx.size(1);
      return x;
    });
  }

  std::unique_ptr<Backbone> clone() const override { return std::make_unique<Ensemble>(*this); }
  void visit(nn::Visitor& v) override { v("members", members_); }

 private:
  Tensor side_by_side(const auto& of_member) const {
    std::vector<Tensor> all;
    for (size_t i = 0; i < members_.size(); ++i) all.push_back(of_member(i));
    return cat(all, -1);
  }

  std::vector<std::unique_ptr<Backbone>> members_;
  int64_t width_;
};

}  // namespace

std::unique_ptr<Backbone> make_ensemble(const DecoderConfig& config, Generator& init) {
  return std::make_unique<Ensemble>(config, init);
}

}  // namespace gradus::models

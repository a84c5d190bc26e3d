#include "gradus/train/trainer/gradient_exchange.hpp"

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/clip.hpp"

namespace gradus::train {

GradientExchange::GradientExchange(const NamedParameters& parameters, int64_t micro) : micro_(micro) {
  for (const NamedParameter& one : parameters)
    if (one.second.requires_grad()) parameters_.push_back(one);
}

StepSums GradientExchange::compute(const StepWork& work) {
  std::vector<std::vector<data::Batch>> batches;
  StepSums sums;
  for (int64_t i = 0; i < micro_; ++i)
    sums.targets += static_cast<double>(data::count_targets(batches.emplace_back(work.draw(i))));
  work.begin();
  std::vector<TreeSum> gradients(parameters_.size());
  for (int64_t i = 0; i < micro_; ++i) {
    sums.loss += work.backward(i, batches[static_cast<size_t>(i)], sums.targets);
    if (micro_ == 1) return sums;  // the gradients are those of the step
    const NoGrad no_grad;
    for (size_t k = 0; k < parameters_.size(); ++k) {
      Tensor& parameter = parameters_[k].second;
      gradients[k].add({{i, i + 1}, gradient_or_zeros(parameter)});
      parameter.zero_grad();
    }
  }
  const NoGrad no_grad;
  for (size_t k = 0; k < parameters_.size(); ++k) parameters_[k].second.set_grad(gradients[k].total());
  return sums;
}

double GradientExchange::norm() const {
  std::vector<Tensor> parameters;
  for (const auto& [name, parameter] : parameters_) parameters.push_back(parameter);
  return grad_norm(parameters);
}

std::unique_ptr<GradientExchange> make_exchange(const NamedParameters& parameters, const Optimizer& optimizer,
                                                const LoopOptions& loop, Communicator* ranks) {
  if (ranks) return make_shared_gradients(parameters, optimizer, loop, *ranks);
  return std::make_unique<GradientExchange>(parameters, loop.micro);
}

Tensor gradient_or_zeros(const Tensor& parameter) {
  const Tensor gradient = parameter.grad();
  return gradient.defined() ? gradient.contiguous() : zeros(parameter.shape(), parameter.dtype());
}

void TreeSum::add(Block block) {
  const auto is_sibling = [&](const Block& before) {
    const int64_t size = before.of.end - before.of.begin;
    return size == block.of.end - block.of.begin && before.of.begin % (2 * size) == 0;
  };
  while (!blocks_.empty() && is_sibling(blocks_.back())) {
    if (block.sum.defined()) block.sum = blocks_.back().sum + block.sum;
    block.of.begin = blocks_.back().of.begin;
    blocks_.pop_back();
  }
  blocks_.push_back(std::move(block));
}

Tensor TreeSum::total() const {
  Tensor sum = blocks_.back().sum;
  for (auto block = blocks_.rbegin() + 1; block != blocks_.rend(); ++block) sum = block->sum + sum;
  return sum;
}

}  // namespace gradus::train

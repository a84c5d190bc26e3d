#include "gradus/train/trainer/gradient_exchange.hpp"

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/clip.hpp"

namespace gradus::train {

GradientExchange::GradientExchange(const NamedParameters& parameters) {
  for (const NamedParameter& one : parameters)
    if (one.second.requires_grad()) parameters_.push_back(one);
}

StepSums GradientExchange::compute(const StepWork& work) {
  const std::vector<data::Batch> batches = work.draw(0);
  work.begin();
  const auto targets = static_cast<double>(data::count_targets(batches));
  return {work.backward(0, batches, targets), targets};
}

double GradientExchange::norm() const {
  std::vector<Tensor> parameters;
  for (const auto& [name, parameter] : parameters_) parameters.push_back(parameter);
  return grad_norm(parameters);
}

std::unique_ptr<GradientExchange> make_exchange(const NamedParameters& parameters, const Optimizer& optimizer,
                                                const LoopOptions& loop, Communicator* ranks) {
  if (ranks) return make_shared_gradients(parameters, optimizer, loop, *ranks);
  if (loop.micro > 1) return make_micro_batches(parameters, loop.micro);
  return std::make_unique<GradientExchange>(parameters);
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

#include "gradus/train/trainer/shared_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/elementwise/optimizers.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/hashes.hpp"

namespace gradus::train {
namespace {

constexpr int kSmallTag = 0;  // numbers and checksums
constexpr int kFirstTag = 1;  // of parameters and gradients
constexpr int kMostBlocks = 64;

int64_t bytes_of(const Tensor& tensor) { return tensor.numel() * element_size(tensor.dtype()); }

int tag_of(size_t part, size_t block = 0) {
  return kFirstTag + static_cast<int>(part) * kMostBlocks + static_cast<int>(block);
}

}  // namespace

std::vector<double> exchange(Communicator* ranks, const std::vector<double>& own,
                             std::vector<size_t> counts) {
  if (!ranks) return own;
  counts.resize(static_cast<size_t>(ranks->size()), own.size());
  std::vector<std::vector<double>> of(counts.size());
  for (int r = 0; r < ranks->size(); ++r) {
    std::vector<double>& values = of[static_cast<size_t>(r)];
    if (r == ranks->rank()) {
      values = own;
      continue;
    }
    values.resize(counts[static_cast<size_t>(r)]);
    if (!values.empty())
      ranks->receive(r, kSmallTag, values.data(), static_cast<int64_t>(values.size() * sizeof(double)));
    if (!own.empty())
      ranks->send(r, kSmallTag, own.data(), static_cast<int64_t>(own.size() * sizeof(double)));
  }
  ranks->wait();
  std::vector<double> all;
  for (const std::vector<double>& values : of) all.insert(all.end(), values.begin(), values.end());
  return all;
}

std::vector<int> owners(const std::vector<double>& costs, int ranks) {
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  std::vector<double> work(static_cast<size_t>(ranks), 0.0);
  std::vector<int> owner(costs.size());
  for (const size_t i : order) {
    const auto least = std::min_element(work.begin(), work.end());
    *least += costs[i];
    owner[i] = static_cast<int>(least - work.begin());
  }
  return owner;
}

MicroRange micro_range(int64_t micro, int rank, int ranks) {
  const auto first = [&](int64_t of) { return (of * micro + ranks - 1) / ranks; };
  return {first(rank), first(rank + 1)};
}

SharedGradients::SharedGradients(const NamedParameters& parameters, const Optimizer& optimizer,
                                 const LoopOptions& loop, Communicator* ranks)
    : loop_(loop), ranks_(ranks) {
  std::vector<double> costs;
  for (const NamedParameter& one : parameters)
    costs.push_back(one.second.requires_grad() ? optimizer.update_cost(one) : 0);
  const std::vector<int> owner = owners(costs, size());
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].second.requires_grad())
      parts_.push_back({.name = parameters[i].first, .parameter = parameters[i].second, .owner = owner[i]});
  for (size_t i = 0; i < parts_.size(); ++i)
    parts_[i].hook = parts_[i].parameter.register_hook([this, i](const Tensor& g) { arrived(i, g); });
}

SharedGradients::~SharedGradients() {
  for (Part& part : parts_) part.hook.remove();
}

/// The blocks of a rank's range, as add() leaves them.
std::vector<MicroRange> SharedGradients::blocks_of(MicroRange range) const {
  if (is_rounded() && range.begin < range.end) return {range};
  std::vector<Block> blocks;
  for (int64_t i = range.begin; i < range.end; ++i) add(blocks, {{i, i + 1}, Tensor()});
  std::vector<MicroRange> ranges;
  for (const Block& block : blocks) ranges.push_back(block.of);
  return ranges;
}

void SharedGradients::add(std::vector<Block>& blocks, Block block) {
  const auto is_sibling = [&](const Block& before) {
    const int64_t size = before.of.end - before.of.begin;
    return size == block.of.end - block.of.begin && before.of.begin % (2 * size) == 0;
  };
  while (!blocks.empty() && is_sibling(blocks.back())) {
    if (block.sum.defined()) block.sum = blocks.back().sum + block.sum;
    block.of.begin = blocks.back().of.begin;
    blocks.pop_back();
  }
  blocks.push_back(std::move(block));
}

Tensor SharedGradients::sum_of(std::vector<Block> blocks) {
  Tensor sum = blocks.back().sum;
  for (auto block = blocks.rbegin() + 1; block != blocks.rend(); ++block) sum = block->sum + sum;
  return sum;
}

void SharedGradients::begin() {
  for (Part& part : parts_) {
    part.blocks.clear();
    part.received.clear();
  }
  for (int from = 0; from < size(); ++from) {
    if (from == rank()) continue;
    const std::vector<MicroRange> blocks = blocks_of(range_of(from));
    for (size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      if (part.owner != rank()) continue;
      for (size_t b = 0; b < blocks.size(); ++b) {
        part.received.push_back(
            {blocks[b], empty(part.parameter.shape(), is_rounded() ? loop_.wire : part.parameter.dtype())});
        Tensor& sum = part.received.back().sum;
        ranks_->receive(from, tag_of(i, b), sum.raw_mutable_data(), bytes_of(sum));
      }
    }
  }
}

/// The values in bfloat16, after what the last rounding lost was added.
Tensor SharedGradients::rounded(Part& part, Tensor values) {
  if (part.lost.defined()) values = values + part.lost;
  Tensor message = values.to(DType::bfloat16);
  part.lost = values - message.to(values.dtype());
  return message;
}

void SharedGradients::begin_last_backward(int64_t micro_batch) {
  current_ = micro_batch;
  for (Part& part : parts_) part.has_arrived = false;
}

void SharedGradients::arrived(size_t index, const Tensor& gradient) {
  if (current_ < 0) return;
  const NoGrad no_grad;
  Part& part = parts_[index];
  part.has_arrived = true;
  const Tensor before = part.parameter.grad();
  add(part.blocks,
      {{current_, current_ + 1}, (before.defined() ? before + gradient : gradient).contiguous()});
  if (current_ + 1 < mine().end || part.owner == rank()) return;
  if (is_rounded()) part.blocks = {{mine(), rounded(part, sum_of(std::move(part.blocks)))}};
  for (size_t b = 0; b < part.blocks.size(); ++b) {
    const Tensor& sum = part.blocks[b].sum;
    ranks_->send(part.owner, tag_of(index, b), sum.raw_data(), bytes_of(sum));
  }
}

void SharedGradients::end_micro_batch() {
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (!part.has_arrived) arrived(i, zeros(part.parameter.shape(), part.parameter.dtype()));  // not used
    part.parameter.zero_grad();
  }
  current_ = -1;
}

void SharedGradients::finish() {
  const NoGrad no_grad;
  if (ranks_) ranks_->wait();
  for (Part& part : parts_) {
    part.parameter.zero_grad();
    if (part.owner == rank()) {
      std::vector<Block> all = std::move(part.blocks), blocks;
      for (Block& block : part.received)
        all.push_back({block.of, is_rounded() ? block.sum.to(part.parameter.dtype()) : block.sum});
      std::sort(all.begin(), all.end(),
                [](const Block& a, const Block& b) { return a.of.begin < b.of.begin; });
      for (Block& block : all) add(blocks, std::move(block));
      part.parameter.set_grad(sum_of(std::move(blocks)));
      if (is_rounded()) part.before = part.parameter.detach() * 1.0;
    }
    part.blocks.clear();
    part.received.clear();
  }
}

double SharedGradients::grad_norm() const {
  std::vector<double> own;
  std::vector<size_t> counts(static_cast<size_t>(size()), 0);
  for (const Part& part : parts_) {
    ++counts[static_cast<size_t>(part.owner)];
    if (part.owner != rank()) continue;
    const Tensor grad = part.parameter.grad();
    own.push_back(dispatch_float("grad_norm", grad.dtype(), [&]<class T>() {
      return kernels::sum_of_squares(grad.numel(), grad.data<T>());
    }));
  }
  const std::vector<double> all = exchange(ranks_, own, counts);
  std::vector<size_t> next(counts.size(), 0);  // of each rank in `all`
  std::partial_sum(counts.begin(), counts.end() - 1, next.begin() + 1);
  double squares = 0;  // in the order of the parameters, so that the owners do not matter
  for (const Part& part : parts_) squares += all[next[static_cast<size_t>(part.owner)]++];
  return std::sqrt(squares);
}

void SharedGradients::send_parameter(size_t index) {
  Part& part = parts_[index];
  if (part.owner != rank()) return;
  part.message = is_rounded() ? rounded(part, part.parameter - part.before) : part.parameter;
  for (int to = 0; to < size(); ++to)
    if (to != rank()) ranks_->send(to, tag_of(index), part.message.raw_data(), bytes_of(part.message));
}

void SharedGradients::update_parameters(
    const std::function<void(const Optimizer::Updated& updated)>& update) {
  if (size() == 1) return update({});
  const NoGrad no_grad;
  std::map<const void*, size_t> part_of;
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    part_of[part.parameter.raw_data()] = i;
    if (part.owner == rank()) continue;
    part.message = is_rounded() ? empty(part.parameter.shape(), loop_.wire) : part.parameter;
    ranks_->receive(part.owner, tag_of(i), part.message.raw_mutable_data(), bytes_of(part.message));
  }
  update([&](const Tensor& parameter) { send_parameter(part_of.at(parameter.raw_data())); });
  ranks_->wait();
  for (Part& part : parts_) {
    if (is_rounded())
      part.parameter.copy_((part.owner == rank() ? part.before : part.parameter.detach()) +
                           part.message.to(part.parameter.dtype()));
    part.before = part.message = Tensor();
  }
}

void SharedGradients::check_parameters() const {
  uint32_t sum = 0;
  for (const Part& part : parts_)
    sum = files::crc32(
        {static_cast<const char*>(part.parameter.raw_data()), static_cast<size_t>(bytes_of(part.parameter))},
        sum);
  const std::vector<double> sums = exchange(ranks_, {static_cast<double>(sum)});
  for (size_t r = 1; r < sums.size(); ++r)
    if (sums[r] != sums[0] && rank() == 0)
      ranks_->abort(concat("[ranks] all ranks must have the same parameters, got others on rank ", r,
                           ". The last checkpoint is whole. Hint: check that machine's memory."));
}

void SharedGradients::gather(const nn::StateDict& optimizer) {
  if (size() == 1) return;
  check_parameters();
  for (Part& part : parts_) part.lost = Tensor();
  int tag = kFirstTag;
  for (const auto& [name, tensor] : optimizer) {
    if (!is_floating(tensor.dtype())) continue;  // counts, which all ranks have
    ++tag;
    const std::string parameter = name.substr(std::min(name.find('.') + 1, name.size()));
    const auto part =
        std::find_if(parts_.begin(), parts_.end(), [&](const Part& one) { return one.name == parameter; });
    if (part == parts_.end() || part->owner == 0) continue;
    Tensor values = tensor;  // a handle
    if (rank() == 0) ranks_->receive(part->owner, tag, values.raw_mutable_data(), bytes_of(values));
    if (rank() == part->owner) ranks_->send(0, tag, values.raw_data(), bytes_of(values));
  }
  ranks_->wait();
}

}  // namespace gradus::train

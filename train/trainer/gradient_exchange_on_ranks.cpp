// A step whose micro-batches the ranks of a Communicator share; all ranks call the same functions in the same
// order. A rank computes consecutive micro-batches. Each parameter has an owner, which receives the sums of
// the other ranks' blocks while backward is still running, and adds them in the order of the tree. (With
// activation checkpoints, gradients are complete only at the end of it.)
//
// With wire = bfloat16, a rank sends one rounded sum instead of its blocks, and the owner rounds the change
// of its parameters; what rounding loses is added to the next values (error feedback, Seide et al., "1-bit
// stochastic gradient descent", 2014). The bits then depend on the number of ranks.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/elementwise/optimizers.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/trainer/gradient_exchange.hpp"

namespace gradus::train {
namespace {

constexpr int kFirstTag = 1;  // of parameters and gradients; 0 is that of add_ranks()
constexpr int kMostBlocks = 64;

int64_t bytes_of(const Tensor& tensor) { return tensor.numel() * element_size(tensor.dtype()); }

int tag_of(size_t part, size_t block = 0) {
  return kFirstTag + static_cast<int>(part) * kMostBlocks + static_cast<int>(block);
}

double sum_of_squares(const Tensor& x) {
  return dispatch_float("grad_norm", x.dtype(),
                        [&]<class T>() { return kernels::sum_of_squares(x.numel(), x.data<T>()); });
}

double sum_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

class SharedGradients : public GradientExchange {
 public:
  SharedGradients(const NamedParameters& parameters, const Optimizer& optimizer, const LoopOptions& loop,
                  Communicator& ranks)
      : GradientExchange(parameters, loop.micro), wire_(loop.wire), ranks_(ranks) {
    std::vector<double> costs;
    for (const NamedParameter& one : parameters)
      costs.push_back(one.second.requires_grad() ? optimizer.update_cost(one) : 0);
    const std::vector<int> owner = owners(costs, ranks.size());
    for (size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].second.requires_grad())
        parts_.push_back({.parameter = parameters[i].second, .owner = owner[i]});
    if (micro_ == 1) return;  // of several batches, and no rank waits for gradients of another
    for (size_t i = 0; i < parts_.size(); ++i)
      parts_[i].hook = parts_[i].parameter.register_hook([this, i](const Tensor& gradient) {
        if (current_ >= 0) arrived(i, gradient.contiguous());
      });
  }
  ~SharedGradients() override {
    for (Part& part : parts_) part.hook.remove();
  }

  StepSums compute(const StepWork& work) override {
    // All batches are read before the other ranks begin: rank 0 saves if the text cannot be read.
    std::vector<std::vector<data::Batch>> batches;
    double targets = 0;
    for (int64_t i = mine().begin; i < mine().end; ++i)
      targets += static_cast<double>(data::count_targets(batches.emplace_back(work.draw(i))));
    work.begin();
    targets = sum_of(all_ranks(&ranks_, targets));

    receive_gradients();
    std::vector<double> losses(static_cast<size_t>(micro_));
    for (int64_t i = mine().begin; i < mine().end; ++i) {
      current_ = i;
      for (Part& part : parts_) part.has_arrived = false;
      losses[static_cast<size_t>(i)] =
          work.backward(i, batches[static_cast<size_t>(i - mine().begin)], targets);
      for (size_t k = 0; k < parts_.size(); ++k) {
        if (!parts_[k].has_arrived) arrived(k, gradient_or_zeros(parts_[k].parameter));
        parts_[k].parameter.zero_grad();
      }
      current_ = -1;
    }
    ranks_.wait();
    add_gradients();
    add_ranks(&ranks_, losses);
    return {sum_of(losses), targets};
  }

  double norm() const override {
    // In the order of the parameters, so that the owners do not matter.
    const auto of_all = [&](const auto& of_one) {
      std::vector<double> numbers(parts_.size());
      for (size_t i = 0; i < parts_.size(); ++i)
        if (owns(parts_[i])) numbers[i] = of_one(parts_[i].parameter.grad());
      add_ranks(&ranks_, numbers);
      return numbers;
    };
    if (const double squares = sum_of(of_all(sum_of_squares)); std::isnormal(squares))
      return std::sqrt(squares);
    double root = 0;  // where squares overflow or vanish
    for (const double one : of_all([](const Tensor& x) { return train::norm({x}); }))
      root = std::hypot(root, one);
    return root;
  }

  void update(const Update& update) override {
    const NoGrad no_grad;
    std::map<const void*, size_t> part_of;
    for (size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      part_of[part.parameter.raw_data()] = i;
      if (owns(part)) continue;
      part.message = is_rounded() ? empty(part.parameter.shape(), wire_) : part.parameter;
      ranks_.receive(part.owner, tag_of(i), part.message.raw_mutable_data(), bytes_of(part.message));
    }
    update([&](const Tensor& parameter) { send_parameter(part_of.at(parameter.raw_data())); });
    ranks_.wait();
    for (Part& part : parts_) {
      if (is_rounded())
        part.parameter.copy_((owns(part) ? part.before : part.parameter.detach()) +
                             part.message.to(part.parameter.dtype()));
      part.before = part.message = Tensor();
    }
  }

  void gather(const nn::StateDict& optimizer) override {
    check_parameters();
    for (Part& part : parts_) part.lost = Tensor();
    int tag = kFirstTag;
    for (const auto& [name, tensor] : optimizer) {
      if (!is_floating(tensor.dtype())) continue;  // counts, which all ranks have
      ++tag;
      const std::string parameter = name.substr(std::min(name.find('.') + 1, name.size()));
      const auto found = std::ranges::find(parameters_, parameter, &NamedParameter::first);
      if (found == parameters_.end()) continue;
      const int owner = parts_[static_cast<size_t>(found - parameters_.begin())].owner;
      if (owner == 0) continue;
      Tensor values = tensor;  // a handle
      if (ranks_.rank() == 0) ranks_.receive(owner, tag, values.raw_mutable_data(), bytes_of(values));
      if (ranks_.rank() == owner) ranks_.send(0, tag, values.raw_data(), bytes_of(values));
    }
    ranks_.wait();
  }

 private:
  struct Part {  // of the gradient: that of one parameter
    Tensor parameter;
    int owner = 0;
    TreeSum own = {};                           // of this rank
    std::vector<TreeSum::Block> received = {};  // of the others, on the owner
    HookHandle hook = {};
    bool has_arrived = false;  // from this micro-batch
    Tensor before = {};        // bfloat16: the parameter of the owner before its update
    Tensor lost = {};          // bfloat16: by the last rounding
    Tensor message = {};       // bfloat16: of parameters
  };

  bool owns(const Part& part) const { return part.owner == ranks_.rank(); }
  MicroRange mine() const { return range_of(ranks_.rank()); }
  bool is_rounded() const { return wire_ == DType::bfloat16; }

  /// The micro-batches that a rank computes; rank 0 has the first. May be empty.
  MicroRange range_of(int rank) const {
    const auto first = [&](int64_t of) { return (of * micro_ + ranks_.size() - 1) / ranks_.size(); };
    return {first(rank), first(rank + 1)};
  }

  /// The blocks that a rank sends.
  std::vector<TreeSum::Block> blocks_of(MicroRange range) const {
    if (is_rounded() && range.begin < range.end) return {{range}};
    TreeSum tree;
    for (int64_t i = range.begin; i < range.end; ++i) tree.add({{i, i + 1}});
    return tree.blocks();
  }

  /// Starts to receive the gradients of the owned parameters.
  void receive_gradients() {
    for (Part& part : parts_) {
      part.own.clear();
      part.received.clear();
    }
    for (int from = 0; from < ranks_.size(); ++from) {
      if (from == ranks_.rank()) continue;
      const std::vector<TreeSum::Block> blocks = blocks_of(range_of(from));
      for (size_t i = 0; i < parts_.size(); ++i) {
        Part& part = parts_[i];
        if (!owns(part)) continue;
        for (size_t b = 0; b < blocks.size(); ++b) {
          const DType dtype = is_rounded() ? wire_ : part.parameter.dtype();
          Tensor sum = empty(part.parameter.shape(), dtype);
          ranks_.receive(from, tag_of(i, b), sum.raw_mutable_data(), bytes_of(sum));
          part.received.push_back({blocks[b].of, std::move(sum)});
        }
      }
    }
  }

  /// Adds the gradient of a part from the current micro-batch. After the last one, the owner gets the sums.
  void arrived(size_t index, const Tensor& gradient) {
    const NoGrad no_grad;
    Part& part = parts_[index];
    part.has_arrived = true;
    part.own.add({{current_, current_ + 1}, gradient});
    if (current_ + 1 < mine().end || owns(part)) return;
    if (is_rounded()) {
      Tensor sum = rounded(part, part.own.total());
      part.own.clear();
      part.own.add({mine(), std::move(sum)});
    }
    for (size_t b = 0; b < part.own.blocks().size(); ++b) {
      const Tensor& sum = part.own.blocks()[b].sum;
      ranks_.send(part.owner, tag_of(index, b), sum.raw_data(), bytes_of(sum));
    }
  }

  /// Sets the gradients of the owned parameters to the sums over all ranks.
  void add_gradients() {
    const NoGrad no_grad;
    for (Part& part : parts_) {
      part.parameter.zero_grad();
      if (owns(part)) {
        std::vector<TreeSum::Block> all = part.own.blocks();
        for (const TreeSum::Block& block : part.received)
          all.push_back({block.of, is_rounded() ? block.sum.to(part.parameter.dtype()) : block.sum});
        std::ranges::sort(all, {}, [](const TreeSum::Block& block) { return block.of.begin; });
        TreeSum sum;
        for (TreeSum::Block& block : all) sum.add(std::move(block));
        part.parameter.set_grad(sum.total());
        if (is_rounded()) part.before = part.parameter.detach() * 1.0;
      }
      part.own.clear();
      part.received.clear();
    }
  }

  /// The values in bfloat16, after what the last rounding lost was added.
  static Tensor rounded(Part& part, Tensor values) {
    if (part.lost.defined()) values = values + part.lost;
    Tensor message = values.to(DType::bfloat16);
    part.lost = values - message.to(values.dtype());
    return message;
  }

  void send_parameter(size_t index) {
    Part& part = parts_[index];
    if (!owns(part)) return;
    part.message = is_rounded() ? rounded(part, part.parameter - part.before) : part.parameter;
    for (int to = 0; to < ranks_.size(); ++to)
      if (to != ranks_.rank())
        ranks_.send(to, tag_of(index), part.message.raw_data(), bytes_of(part.message));
  }

  void check_parameters() const {
    uint32_t sum = 0;
    for (const Part& part : parts_)
      sum = files::crc32({static_cast<const char*>(part.parameter.raw_data()),
                          static_cast<size_t>(bytes_of(part.parameter))},
                         sum);
    const std::vector<double> sums = all_ranks(&ranks_, sum);
    for (size_t r = 1; r < sums.size(); ++r)
      if (sums[r] != sums[0] && ranks_.rank() == 0)
        ranks_.abort(concat("[ranks] all ranks must have the same parameters, got others on rank ", r,
                            ". The last checkpoint is whole. Hint: check that machine's memory."));
  }

  const DType wire_;
  Communicator& ranks_;
  std::vector<Part> parts_;  // of parameters_
  int64_t current_ = -1;     // micro-batch, during its backward
};

}  // namespace

std::unique_ptr<GradientExchange> make_shared_gradients(const NamedParameters& parameters,
                                                        const Optimizer& optimizer, const LoopOptions& loop,
                                                        Communicator& ranks) {
  return std::make_unique<SharedGradients>(parameters, optimizer, loop, ranks);
}

std::vector<int> owners(const std::vector<double>& costs, int ranks) {
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  std::vector<double> work(static_cast<size_t>(ranks), 0.0);
  std::vector<int> owner(costs.size());
  for (const size_t i : order) {
    const auto least = std::ranges::min_element(work);
    *least += costs[i];
    owner[i] = static_cast<int>(least - work.begin());
  }
  return owner;
}

}  // namespace gradus::train

// SharedGradients: the gradient of a step from micro-batches that the ranks of a Communicator share.
//
// The sum over M micro-batches is a binary tree over their numbers, so it has the same bits for every number
// of ranks: of two neighbouring blocks of one size, the sums are added as soon as both are there; blocks that
// are left are added from the last to the first. A rank computes consecutive micro-batches. Each parameter
// has an owner, which receives the sums of the other ranks' blocks while backward is still running, and adds
// them in the order of the tree. (With activation checkpoints, gradients are complete only at the end of it.)
//
// With wire = bfloat16, a rank sends one rounded sum instead of its blocks, and the owner rounds the change
// of its parameters; what rounding loses is added to the next values (error feedback, Seide et al., "1-bit
// stochastic gradient descent", 2014). The bits then depend on the number of ranks. Not thread-safe; all
// ranks call the same functions in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/train/optimizers/optimizer.hpp"
#include "gradus/train/trainer/communicator.hpp"
#include "gradus/train/trainer/loop_options.hpp"

namespace gradus::train {

/// A range of micro-batches.
struct MicroRange {
  int64_t begin = 0, end = 0;  ///< the first, and the first after it
};
/// Those of `micro` that a rank of `ranks` computes; rank 0 has the first. May be empty.
MicroRange micro_range(int64_t micro, int rank, int ranks);

/// The owner of each parameter, from the costs of their updates: the most expensive one first, each to the
/// rank that has the least to do.
std::vector<int> owners(const std::vector<double>& costs, int ranks);

/// The numbers of all ranks, by rank: `own` are those of this one, `counts` how many each has; without it,
/// all have as many. `ranks` may be null.
std::vector<double> exchange(Communicator* ranks, const std::vector<double>& own,
                             std::vector<size_t> counts = {});

class SharedGradients {
 public:
  /// Adds hooks to the parameters that require gradients, until it is destroyed. The optimizer, which is not
  /// kept, tells the cost of each update. Of `loop` it uses micro and wire. `ranks` is borrowed; null: this
  /// process alone.
  SharedGradients(const NamedParameters& parameters, const Optimizer& optimizer, const LoopOptions& loop,
                  Communicator* ranks);
  ~SharedGradients();
  SharedGradients(const SharedGradients&) = delete;
  SharedGradients& operator=(const SharedGradients&) = delete;

  /// Starts a step.
  void begin();
  /// Collects the gradients of a micro-batch of this rank, in order: calls backward(i) for i from 0 to count
  /// - 1, each of which adds to them.
  template <class Backward>
  void collect(int64_t micro_batch, size_t count, Backward&& backward) {
    for (size_t i = 0; i < count; ++i) {
      if (i + 1 == count) begin_last_backward(micro_batch);
      backward(i);
    }
    end_micro_batch();
  }
  /// After the last: each owned parameter's grad() is the sum over all micro-batches, the others
  /// have none.
  void finish();
  /// The norm of all gradients after finish(), the same on all ranks.
  double grad_norm() const;
  /// Calls update(updated), which calls updated(parameter) after it has updated an owned parameter: sends it
  /// to the other ranks meanwhile. Afterwards all ranks have the same parameters.
  void update_parameters(const std::function<void(const Optimizer::Updated& updated)>& update);
  /// Collects the values of an optimizer's state on rank 0. Ends all ranks if a rank's parameters differ from
  /// those of rank 0. Forgets what rounding lost, so that a run that begins here continues with the same
  /// bits.
  void gather(const nn::StateDict& optimizer);

 private:
  struct Block {
    MicroRange of;
    Tensor sum;
  };
  struct Part {  // of the gradient: that of one parameter
    std::string name;
    Tensor parameter;
    int owner = 0;
    std::vector<Block> blocks = {};    // of this rank, and on its owner also those of the others
    std::vector<Block> received = {};  // of the others
    HookHandle hook = {};
    bool has_arrived = false;  // from this micro-batch
    Tensor before = {};        // bfloat16: the parameter of the owner before its update
    Tensor lost = {};          // bfloat16: by the last rounding
    Tensor message = {};       // bfloat16: of parameters
  };

  int rank() const { return ranks_ ? ranks_->rank() : 0; }
  int size() const { return ranks_ ? ranks_->size() : 1; }
  MicroRange mine() const { return range_of(rank()); }
  MicroRange range_of(int rank) const { return micro_range(loop_.micro, rank, size()); }
  bool is_rounded() const { return size() > 1 && loop_.wire == DType::bfloat16; }
  std::vector<MicroRange> blocks_of(MicroRange range) const;
  static void add(std::vector<Block>& blocks, Block block);
  static Tensor sum_of(std::vector<Block> blocks);
  void begin_last_backward(int64_t micro_batch);
  void end_micro_batch();
  void arrived(size_t index, const Tensor& gradient);
  void send_parameter(size_t part);
  static Tensor rounded(Part& part, Tensor values);
  void check_parameters() const;

  LoopOptions loop_;
  Communicator* ranks_;
  std::vector<Part> parts_;
  int64_t current_ = -1;  // micro-batch, during its last backward
};

}  // namespace gradus::train

// GradientExchange: how the gradient of a step comes about. This class is the way of one process, whose
// micro-batches come one after the other; make_exchange() also returns that of several ranks
// (gradient_exchange_on_ranks.cpp). Not thread-safe.
//
// The sum over M micro-batches is a binary tree over their numbers, so it has the same bits for every number
// of ranks: of two neighbouring blocks of one size, the sums are added as soon as both are there; blocks that
// are left are added from the last to the first.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gradus/data/dataset.hpp"
#include "gradus/train/optimizers/optimizer.hpp"
#include "gradus/train/trainer/communicator.hpp"
#include "gradus/train/trainer/loop_options.hpp"

namespace gradus::train {

/// What a step does for its gradient. Micro-batches are counted from 0.
struct StepWork {
  /// The batches of a micro-batch. May throw: then no rank has begun.
  std::function<std::vector<data::Batch>(int64_t micro_batch)> draw;
  /// Called after all are drawn, before any is used.
  std::function<void()> begin;
  /// Adds the gradients of these batches to grad(), for a step of `targets` targets. Returns their part of
  /// the step's loss.
  std::function<double(int64_t micro_batch, const std::vector<data::Batch>&, double targets)> backward;
};

/// The sums over all micro-batches of a step.
struct StepSums {
  double loss = 0;     ///< mean over the targets
  double targets = 0;  ///< a whole number
};

class GradientExchange {
 public:
  /// A call that updates the owned parameters, and passes each to the function after that.
  using Update = std::function<void(const Optimizer::Updated& updated)>;

  /// Keeps those that require gradients. They have no gradient yet. A step has `micro` micro-batches.
  GradientExchange(const NamedParameters& parameters, int64_t micro);
  virtual ~GradientExchange() = default;
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Afterwards each parameter that this process owns has its gradient of the step; the others have none.
  virtual StepSums compute(const StepWork& work);
  /// The norm of all gradients after compute(), the same on all ranks.
  virtual double norm() const;
  /// Calls update(updated), where `updated` may be empty. Afterwards all ranks have the same parameters.
  virtual void update(const Update& update) { update({}); }
  /// Collects the values of an optimizer's state on rank 0. Ends all ranks if a rank's parameters differ from
  /// those of rank 0. Forgets what rounding lost, so that a resumed run has the same bits.
  virtual void gather(const nn::StateDict& /*optimizer*/) {}

 protected:
  NamedParameters parameters_;
  const int64_t micro_;
};

/// The exchange for these settings, of which it uses micro and wire. `ranks` is borrowed; null: this process
/// alone. The optimizer, which is not kept, tells the cost of each update.
std::unique_ptr<GradientExchange> make_exchange(const NamedParameters& parameters, const Optimizer& optimizer,
                                                const LoopOptions& loop, Communicator* ranks);

/// The owner of each parameter, from the costs of their updates: the most expensive one first, each to the
/// rank that has the least to do.
std::vector<int> owners(const std::vector<double>& costs, int ranks);

/// Consecutive micro-batches.
struct MicroRange {
  int64_t begin = 0, end = 0;  ///< the first, and the first after it
};

/// A sum over consecutive micro-batches, as nodes of the tree, in order.
class TreeSum {
 public:
  /// A node and its sum, or, if only the shape of the tree is wanted, an undefined tensor.
  struct Block {
    MicroRange of;
    Tensor sum = {};
  };

  /// Adds the next micro-batches.
  void add(Block block);
  const std::vector<Block>& blocks() const { return blocks_; }  ///< of a size each that the tree has
  Tensor total() const;                                         ///< the sum of all; at least one was added
  void clear() { blocks_.clear(); }

 private:
  std::vector<Block> blocks_;
};

/// The gradient of a parameter; zeros if the loss did not use it.
Tensor gradient_or_zeros(const Tensor& parameter);

/// The exchange of make_exchange() for several ranks.
std::unique_ptr<GradientExchange> make_shared_gradients(const NamedParameters& parameters,
                                                        const Optimizer& optimizer, const LoopOptions& loop,
                                                        Communicator& ranks);

}  // namespace gradus::train

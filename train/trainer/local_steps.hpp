// LocalSteps: each rank makes several optimizer steps, then the ranks exchange parameters. For slow networks.
//
// DiLoCo (Douillard et al., arXiv 2311.08105): each rank makes optimizer steps on its part of the batches.
// Then the mean of all ranks' changes is the gradient of one step of SGD with Nesterov momentum, from the
// parameters with which all began, and its result is the start of the next local steps.
#pragma once

#include <vector>

#include "gradus/train/optimizers/sgd.hpp"
#include "gradus/train/trainer/shared_gradients.hpp"

namespace gradus::train {

class LocalSteps {
 public:
  /// Uses the field `wire` of `loop`. `ranks` is borrowed, and null for a single process.
  LocalSteps(const NamedParameters& parameters, const LoopOptions& loop, Communicator* ranks);

  /// Before each step of a rank's own.
  void begin_step();
  /// Whether there was one since the last synchronize().
  bool has_steps() const { return !start_.empty(); }
  /// Gives all ranks the same parameters. All ranks call it.
  void synchronize();

  /// The outer velocities, as "outer_velocity.<parameter>", and "outer_steps". Tensors share storage.
  nn::StateDict state_dict() const;
  /// Collects the velocities on rank 0, and gives the optimizer's state of rank 0 to all, so that a run which
  /// begins with that state continues with the same bits. All ranks call it after synchronize().
  void gather(const nn::StateDict& optimizer);
  /// Moves the entries of state_dict() out of a state.
  static nn::StateDict take_from(nn::StateDict& state);
  /// Copies the result of take_from(). Throws Error, having changed nothing, for the state of another model.
  void load_state_dict(const nn::StateDict& state);

 private:
  std::vector<Tensor> parameters_;
  std::vector<Tensor> start_;  // of them, at the last synchronize(); empty if there was no step since
  SGD outer_;
  SharedGradients changes_;
  Communicator* ranks_;
};

}  // namespace gradus::train

// Optimizer: what all rules that turn gradients into new parameters have in common.
//
// Holds handles on the parameters, so it changes the module they came from; make it after Module::to(), which
// replaces them. Owns its buffers (moments, velocities), whose names and values state_dict() lists. Gradients
// are read from Tensor::grad(); a parameter that has none is left alone. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::train {

using nn::NamedParameters;

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of all parameters, their gradients taken times grad_scale (see clip.hpp). Throws Error if a
  /// gradient's shape or dtype is not its parameter's. Part of the updates may run on other threads, in the
  /// modes of this one but unseen by its Profile.
  void step(double lr, double grad_scale = 1.0);
  void zero_grad();  ///< makes the gradients of all parameters undefined
  /// What its updates are called in a profile.
  virtual const char* name() const { return "update"; }
  int64_t steps() const { return steps_; }  ///< done so far, those of a state that was loaded included

  /// Every buffer as "<buffer>.<parameter>" and the int64 scalar "steps"; the tensors share storage with the
  /// buffers.
  nn::StateDict state_dict() const;
  /// Copies what state_dict() of such an optimizer gave. Throws Error, having changed nothing, for names or
  /// shapes that are not its own.
  void load_state_dict(const nn::StateDict& state);

 protected:
  /// A parameter and what is kept for it.
  struct Slot {
    std::string name;                       ///< as in NamedParameters
    Tensor parameter;                       ///< a handle on the module's
    std::vector<std::string> buffer_names;  ///< one a buffer
    std::vector<Tensor> buffers;            ///< of the parameter's shape and dtype, zero at first
  };
  /// The names of what is kept for a parameter.
  using BufferNames =
      std::function<std::vector<std::string>(const std::string& name, const Tensor& parameter)>;
  /// Makes a slot for each parameter, with a buffer of each of its names. Throws Error unless all are packed.
  Optimizer(NamedParameters parameters, const BufferNames& names_of);
  /// The same, with the same names for all.
  Optimizer(NamedParameters parameters, const std::vector<std::string>& buffer_names);

  /// One parameter's update in `step` (from 1); `grad` is packed, and times grad_scale the gradient.
  virtual void update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) = 0;
  /// Whether the slot's update is made of many ops, each on too little to be shared: then threads take a
  /// parameter each, and update() runs on any of them.
  virtual bool is_of_small_ops(const Slot&) const { return false; }

  /// Weight decay pulls on matrices only: not on biases and the gains of norms.
  static double decay_of(const Slot& slot, double weight_decay) {
    return slot.parameter.dim() >= 2 ? weight_decay : 0.0;
  }

 private:
  std::vector<Slot> slots_;
  int64_t steps_ = 0;
};

}  // namespace gradus::train

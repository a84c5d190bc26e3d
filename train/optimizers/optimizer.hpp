// Optimizer: what all rules that turn gradients into new parameters have in common.
//
// Holds handles on the parameters, so it changes the module they came from; make it after Module::to(), which
// replaces them. Owns its buffers (moments, velocities), whose names and values state_dict() lists. Gradients
// are read from Tensor::grad(); a parameter that has none is left alone, and one that requires no gradient
// when the optimizer is made has no buffers. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::train {

using nn::NamedParameter;
using nn::NamedParameters;

/// Settings for the parameters whose names match a pattern.
struct ParameterGroup {
  std::string pattern;                      ///< of whole names: * is any text, ? is any character
  double lr_factor = 1.0;                   ///< times the learning rate
  std::optional<double> weight_decay = {};  ///< instead of the optimizer's, for vectors too
  bool frozen = false;                      ///< not trained: requires_grad_(false) is called on them
};
/// If several match a name, the factors of the rate multiply, the last weight decay holds, and one that is
/// frozen suffices.
using ParameterGroups = std::vector<ParameterGroup>;

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
  /// Copies what state_dict() of such an optimizer gave; buffers of parameters that are not trained here are
  /// passed over. Throws Error, having changed nothing, for other names, shapes or dtypes than its own.
  void load_state_dict(const nn::StateDict& state);

 protected:
  /// A parameter and what is kept for it.
  struct Slot {
    NamedParameter of;                        ///< its name, a handle on the module's tensor, and its role
    double lr_factor = 1.0;                   ///< of its groups
    std::optional<double> weight_decay{};     ///< of its groups
    std::vector<std::string> buffer_names{};  ///< one a buffer
    std::vector<Tensor> buffers{};            ///< of the parameter's shape and dtype, zero at first

    const std::string& name() const { return of.first; }  ///< as in NamedParameters
    Tensor& parameter() { return of.second; }             ///< the module's
    /// The group's decay, or `usual` for all but vectors: biases and the gains of norms are not pulled.
    double decay(double usual) const {
      return weight_decay.value_or(of.role.kind == nn::Role::vector ? 0.0 : usual);
    }
  };
  /// The names of what is kept for a parameter.
  using BufferNames = std::function<std::vector<std::string>(const NamedParameter& parameter)>;
  /// Makes a slot for each parameter that is trained, with a buffer of each of its names. Throws Error unless
  /// all are packed, each group matches a name, and factors and decays are at least 0.
  Optimizer(NamedParameters parameters, const BufferNames& buffer_names, const ParameterGroups& groups);

  /// One parameter's update in `step` (from 1) at its own rate; `grad` is packed, and times grad_scale the
  /// gradient.
  virtual void update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) = 0;
  /// Whether the slot's update is made of many ops, each on too little to be shared: then threads take a
  /// parameter each, and update() runs on any of them.
  virtual bool is_of_small_ops(const Slot&) const { return false; }

 private:
  std::vector<Slot> slots_;
  std::vector<std::string> untrained_;  // names
  int64_t steps_ = 0;
};

}  // namespace gradus::train

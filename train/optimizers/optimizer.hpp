// Optimizer: the base class of the rules that update parameters from gradients.
//
// Holds handles on the parameters, so it changes their module; make it after Module::to(), which replaces
// them. Owns its buffers (moments, velocities), whose names and values state_dict() lists. Gradients are read
// from Tensor::grad(); a parameter that has none or is frozen is skipped, and does not count the step. One
// that requires no gradient has no buffers before its first step. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::train {

using nn::NamedParameter;
using nn::NamedParameters;

/// Settings for the parameters whose names match a pattern.
struct ParameterGroup {
  std::string pattern;                      ///< matches whole names: * is any text, ? is any character
  double lr_factor = 1.0;                   ///< factor of the learning rate
  std::optional<double> weight_decay = {};  ///< replaces the optimizer's, for vectors too
  bool frozen = false;                      ///< not trained: requires_grad_(false) is called on them
};
/// If several match a name, their rate factors multiply, the last weight decay applies, and one frozen group
/// freezes.
using ParameterGroups = std::vector<ParameterGroup>;

/// Throws Error, which begins with `who`, if a parameter is not packed, is not a leaf, is listed twice,
/// shares elements with another parameter, or has the name of another parameter.
void check_parameters(const char* who, const NamedParameters& parameters);

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Is called with a parameter after its update, by one thread at a time.
  using Updated = std::function<void(const Tensor& parameter)>;
  /// Updates all parameters with their gradients times grad_scale (see clip.hpp). With `updated`, other ranks
  /// update those that have none. Throws Error, having changed nothing, if a gradient's shape or dtype is not
  /// its parameter's, if the model no longer has a parameter, if all are frozen, or if lr or grad_scale is
  /// not finite. Some updates may run on other threads, in the modes of this one but outside its Profile.
  void step(double lr, double grad_scale = 1.0, const Updated& updated = {});
  /// The same at the rate of its options. Throws Error if they have none.
  void step();
  void zero_grad();  ///< makes the gradients of all parameters undefined
  /// The name of its updates in a profile.
  virtual const char* name() const { return "update"; }
  /// An estimate of the multiply-adds of a parameter's update. Ranks that train together balance them.
  virtual double update_cost(const NamedParameter& parameter) const {
    return static_cast<double>(parameter.second.numel());
  }
  int64_t steps() const { return steps_; }  ///< steps done, including those of a loaded state
  NamedParameters parameters() const;       ///< those that it was made with

  /// Every buffer as "<buffer>.<parameter>", sharing storage, and int64 scalars: "steps" and, where not 0, as
  /// "skipped.<parameter>", the steps that a parameter did not take.
  nn::StateDict state_dict() const;
  /// Copies the result of state_dict(); ignores buffers of parameters that are not trained here. Throws
  /// Error, having changed nothing, if names, shapes or dtypes differ from its own, or for senseless steps.
  void load_state_dict(const nn::StateDict& state);

 protected:
  /// A parameter with its settings and buffers.
  struct Slot {
    NamedParameter of;                        ///< its name, a handle on the module's tensor, and its role
    double lr_factor = 1.0;                   ///< of its groups
    std::optional<double> weight_decay{};     ///< of its groups
    std::vector<std::string> buffer_names{};  ///< one for each buffer
    std::vector<Tensor> buffers{};            ///< of the parameter's shape and dtype, zero at first
    int64_t skipped = 0;                      ///< steps of the optimizer in which it had no gradient

    const std::string& name() const { return of.first; }  ///< as in NamedParameters
    Tensor& parameter() { return of.second; }             ///< the module's
    /// Whether it is updated in this step.
    bool is_trained() const { return of.second.requires_grad() && of.second.grad().defined(); }
    void make_buffers();  ///< unless there are some
    /// The group's decay; without one, `usual`, but 0 for vectors (biases and the gains of norms).
    double decay(double usual) const {
      return weight_decay.value_or(of.role.kind == nn::Role::vector ? 0.0 : usual);
    }
  };
  /// The names of a parameter's buffers.
  using BufferNames = std::function<std::vector<std::string>(const NamedParameter& parameter)>;
  /// Makes a slot for each parameter, with a buffer for each of its names if it is trained. Throws as
  /// check_parameters(), and unless each group matches a name, and factors and decays are at least 0. `lr` is
  /// that of step().
  Optimizer(NamedParameters parameters, std::optional<double> lr, const BufferNames& buffer_names,
            const ParameterGroups& groups);

  /// Updates one parameter, in its own `step` (from 1), at its own rate; the gradient is grad_scale times
  /// `grad`, which is packed.
  virtual void update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) = 0;
  /// Whether the slot's update consists of many ops that are too small to share: then each thread takes a
  /// parameter, and update() runs on any of them.
  virtual bool is_of_small_ops(const Slot&) const { return false; }

 private:
  void check_step(double lr, double grad_scale);
  std::optional<double> lr_;
  std::vector<Slot> slots_;
  int64_t steps_ = 0;
};

}  // namespace gradus::train

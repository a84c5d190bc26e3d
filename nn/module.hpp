// Module: a layer or a model, with its parameters found by name.
//
// Members are plain values; one `visit` lists them, once, and everything else follows from it:
//
//   class Block : public Module {
//     void visit(Visitor& v) override { v("ln_1", ln_1)("attn", attn)("ln_2", ln_2)("mlp", mlp); }
//
// Modules are called: layer(x). Those that drop at random take the generator as a last argument, `Generator*
// dropout`, which is needed only in training mode with p > 0; there is no hidden stream.
//
// Ownership: a module owns its members. Parameters are Tensor handles, so a copied module shares its
// parameters with the original (but not its mode). Thread-safety: calls of const members may run side by
// side; a change of mode or a load must not run beside anything.
#pragma once

#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::nn {

class Module;

/// Walks the members of a module, depth first in the order of their lists. Names are joined with dots.
class Visitor {
 public:
  virtual ~Visitor() = default;

  /// Walks `root` and all below it.
  void start(Module& root);

  /// Called from `visit`. An undefined tensor (no bias) is skipped.
  Visitor& operator()(std::string_view name, Tensor& parameter);
  Visitor& operator()(std::string_view name, Module& child);
  /// The items are named name.0, name.1, ...
  template <std::derived_from<Module> M>
  Visitor& operator()(std::string_view name, std::vector<M>& children) {
    for (size_t i = 0; i < children.size(); ++i)
      (*this)(std::string(name) + "." + std::to_string(i), children[i]);
    return *this;
  }

 protected:
  /// `name` is the full one, as in a state file: h.0.attn.c_attn.weight.
  virtual void on_parameter(const std::string& name, Tensor& parameter);
  /// Comes before the members of the module; the root's name is empty.
  virtual void on_module(const std::string& name, Module& module);

 private:
  std::string prefix_;
};

/// Parameters by name, in the order of their names.
using StateDict = std::map<std::string, Tensor>;

/// Shapes by name, in the order of a visit.
using NamedShapes = std::vector<std::pair<std::string, Shape>>;

/// What a load that is not strict passed over.
struct LoadReport {
  std::vector<std::string> missing;     ///< parameters that the dict does not have
  std::vector<std::string> unexpected;  ///< names of the dict that no parameter has
};

/// Sets names and shapes that are given beside those that are wanted. Throws one Error that tells of all
/// misshaped names and, if strict, of all missing and unexpected ones.
LoadReport compare_shapes(const NamedShapes& wanted, const std::map<std::string, Shape>& given,
                          bool strict = true);

class Module {
 public:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;
  virtual ~Module() = default;

  /// Lists parameters and children by name. Nothing else belongs in it.
  virtual void visit(Visitor& visitor) = 0;

  /// The handles themselves, in the order of visit. A parameter that is listed twice (tied) appears once,
  /// under its first name. Throws Error if two parameters have one name.
  std::vector<std::pair<std::string, Tensor>> named_parameters() const;
  std::vector<Tensor> parameters() const;  ///< the same without the names
  /// Elements of all parameters together.
  int64_t num_parameters() const;
  /// Makes the gradient of every parameter undefined.
  void zero_grad();

  /// Mode of this module and all below it. Modules are made in training mode.
  void train(bool on = true);
  void eval() { train(false); }                ///< evaluation: nothing is dropped
  bool training() const { return training_; }  ///< of this module; others below may differ

  /// Converts all parameters to float32 or float64. They become new tensors: make the optimizer afterwards.
  /// bfloat16, q8_0 and q4_0 are for generating only: matrices are kept so, without gradients, and the rest
  /// as float32.
  void to(DType dtype);

  /// The parameters outside the graph; they share storage with the module's.
  StateDict state_dict() const;
  /// Copies values into the parameters, converted to their dtype. Throws one Error that lists all misshaped
  /// names and, if strict, all missing and unexpected ones; nothing is changed then.
  LoadReport load_state_dict(const StateDict& state, bool strict = true);

  /// A table for people: name, shape and number of elements a parameter, and the total. A parameter that
  /// requires no gradient is marked: as frozen, if requires_grad_(false) was called.
  std::string summary() const;

 private:
  friend class EvaluationMode;
  bool training_ = true;
};

/// While it lives, a module and all below it are in evaluation mode; then each is in the mode it was in.
class EvaluationMode {
 public:
  /// Notes the modes. The root is borrowed.
  explicit EvaluationMode(Module& root);
  ~EvaluationMode();
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> were_training_;
};

}  // namespace gradus::nn

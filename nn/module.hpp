// Module: a layer or a model, with its parameters found by name.
//
// Members are plain values. `visit` lists each of them once; everything else uses that list:
//
//   class Block : public Module {
//     void visit(Visitor& v) override { v("ln_1", ln_1)("attn", attn)("ln_2", ln_2)("mlp", mlp); }
//
// A member is a Tensor or a Module, or a std::optional, std::unique_ptr, std::vector or std::map of these.
//
// A module is called as layer(x). Modules with dropout take a generator as their last argument, `Generator*
// dropout`, which is needed only in training mode with p > 0. There is no global generator.
//
// A module passes what it returns through `output`, and values inside through `point`, which makes them
// visible under their names to Activations and Intervention (watch.hpp):
//
//   Tensor operator()(const Tensor& x) const { return output(x + mlp(point("normed", ln(x)))); }
//
// Ownership: a module owns its members. Parameters are Tensor handles, so a copied module shares its
// parameters with the original (but it has a mode of its own and is not watched). deep_copy() makes a copy
// with parameters of its own. Thread-safety: const members may be called concurrently, unless the module is
// watched; a change of mode and a load need exclusive access.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::nn {

class Module;

namespace detail {

class Watch;  // watch.hpp

/// The watches of one module. A copy of the module has none; a moved module keeps them.
class WatchList {
 public:
  WatchList() = default;
  WatchList(const WatchList&) {}  // NOLINT: nobody watches a copy
  WatchList(WatchList&&) = default;
  WatchList& operator=(const WatchList&) { return *this; }  // NOLINT: only the values are assigned
  WatchList& operator=(WatchList&&) = default;
  ~WatchList() = default;

  /// `path` is that of the module below the root of the watch.
  void add(const std::string& path, const std::shared_ptr<Watch>& watch);
  bool empty() const { return entries_.empty(); }
  bool wants(std::string_view point) const;
  Tensor pass(std::string_view point, Tensor x) const;

 private:
  struct Entry {
    std::string path;
    std::weak_ptr<Watch> watch;
  };
  std::vector<Entry> entries_;
};

}  // namespace detail

/// Whether a pattern matches a whole name: * is any text, ? any character.
bool matches(std::string_view pattern, std::string_view name);

/// The role of a parameter in its model. Optimizers and weight decay treat the kinds of roles differently.
struct Role {
  /// vector: a bias or a gain. embedding: a table of rows. head: the matrix that makes logits.
  enum Kind { matrix, embedding, head, vector };

  /// The role of one matrix, table or vector.
  Role(Kind of_kind, int64_t of_parts = 1) : kind(of_kind), parts(of_parts) {}  // NOLINT: a kind is a role
  /// The role of a matrix that consists of `parts` matrices of equal height, one below the other.
  static Role fused(int64_t parts) { return {matrix, parts}; }
  /// The default: matrix if the parameter has two or more dimensions, else vector.
  static Role of(const Tensor& parameter) { return parameter.dim() >= 2 ? matrix : vector; }

  Kind kind;      ///< matrix, embedding, head or vector
  int64_t parts;  ///< matrices in it
};

/// A parameter under its name; for (auto& [name, parameter] : model.named_parameters()) omits its role.
struct NamedParameter : std::pair<std::string, Tensor> {
  /// The default role is Role::of(parameter).
  NamedParameter(std::string name, Tensor parameter, std::optional<Role> its_role = {})
      : pair(std::move(name), std::move(parameter)), role(its_role.value_or(Role::of(second))) {}

  Role role;  ///< as `visit` gives it
};
/// The parameters that Module::named_parameters() returns, a tied one once.
using NamedParameters = std::vector<NamedParameter>;

/// Walks the members of a module, depth first in the order of their lists. Names are joined with dots.
class Visitor {
 public:
  virtual ~Visitor() = default;

  /// Walks `root` and its descendants.
  void start(Module& root);

  /// Lists a parameter, from `visit`. An undefined tensor (no bias) is skipped. The default role is
  /// Role::of(parameter).
  Visitor& operator()(std::string_view name, Tensor& parameter, std::optional<Role> role = {});
  /// Lists a child. A role replaces that of all matrices in it: v("lm_head", lm_head, Role::head).
  Visitor& operator()(std::string_view name, Module& child, std::optional<Role> role = {});
  /// Lists the value of a std::optional or a std::unique_ptr, if there is one.
  template <class Holder>
  requires requires(Holder& holder) { *holder; }
  Visitor& operator()(std::string_view name, Holder& member, std::optional<Role> role = {}) {
    return member ? (*this)(name, *member, role) : *this;
  }
  /// The items are named name.0, name.1, ...
  template <class T>
  Visitor& operator()(std::string_view name, std::vector<T>& items, std::optional<Role> role = {}) {
    for (size_t i = 0; i < items.size(); ++i)
      (*this)(std::string(name) + "." + std::to_string(i), items[i], role);
    return *this;
  }
  /// The items are named name.key, in the order of their keys.
  template <class T>
  Visitor& operator()(std::string_view name, std::map<std::string, T>& items, std::optional<Role> role = {}) {
    for (auto& [key, item] : items) (*this)(std::string(name) + "." + key, item, role);
    return *this;
  }
  /// Lists a buffer: state that is saved and loaded with the parameters, but not trained.
  Visitor& buffer(std::string_view name, Tensor& tensor);

 protected:
  /// `name` is the full one, as in a state file: h.0.attn.c_attn.weight.
  virtual void on_parameter(const std::string& name, Tensor& parameter, Role role);
  virtual void on_buffer(const std::string& name, Tensor& buffer);  ///< `name` is the full one, too
  /// Comes before the members of the module; the root's name is empty.
  virtual void on_module(const std::string& name, Module& module);

 private:
  std::string prefix_;
  std::optional<Role> role_;  // of the matrices in the current child
};

/// Parameters and buffers by name, in the order of their names.
using StateDict = std::map<std::string, Tensor>;

/// Shapes by name, in the order of a visit.
using NamedShapes = std::vector<std::pair<std::string, Shape>>;

/// The names that a load ignored because it was not strict.
struct LoadReport {
  std::vector<std::string> missing;     ///< names that the dict does not have
  std::vector<std::string> unexpected;  ///< names of the dict that the module does not have
};

/// Compares names and shapes. Throws one Error, naming `op`, that lists all misshaped names and, if strict,
/// all missing and unexpected ones.
LoadReport compare_shapes(const NamedShapes& wanted, const std::map<std::string, Shape>& given,
                          bool strict = true, std::string_view op = "load_state_dict");
/// Throws Error, naming `op`, unless `given` has the names, shapes and dtypes of `own`.
void check_state(std::string_view op, const StateDict& own, const StateDict& given);

class Module {
 public:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;
  virtual ~Module() = default;

  /// Lists parameters, buffers and children by name, and does nothing else.
  virtual void visit(Visitor& visitor) = 0;

  /// The handles themselves, in the order of visit. A parameter that is listed twice (tied) appears once,
  /// under its first name. Throws Error if two parameters have one name.
  NamedParameters named_parameters() const;
  std::vector<Tensor> parameters() const;  ///< the same without the names
  /// The handles of the buffers, in the order of visit.
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;
  /// Elements of all parameters together.
  int64_t num_parameters() const;
  /// Makes the gradient of every parameter undefined.
  void zero_grad();

  /// Sets the mode of this module and its descendants. Modules are made in training mode.
  void train(bool on = true);
  void eval() { train(false); }                ///< evaluation: nothing is dropped
  bool training() const { return training_; }  ///< of this module; its children may differ

  /// Converts all parameters to float32 or float64. They become new tensors: make the optimizer afterwards.
  /// bfloat16, q8_0 and q4_0 are for generation only: matrices are converted to that dtype, without
  /// gradients, and all other parameters to float32. Floating buffers are converted too, to float32 or
  /// float64.
  void to(DType dtype);

  /// Parameters and buffers outside the graph; they share storage with the module's.
  StateDict state_dict() const;
  /// The shapes in state_dict(), in the order of visit: parameters, then buffers.
  NamedShapes state_shapes() const;
  /// Copies values into parameters and buffers, converted to their dtype. Throws one Error that lists all
  /// misshaped names and, if strict, all missing and unexpected ones; nothing is changed then.
  LoadReport load_state_dict(const StateDict& state, bool strict = true);

  /// A table of the parameters and buffers with their shapes and numbers of elements, and the number of
  /// parameters in total. A parameter that requires no gradient is marked, and marked as frozen if
  /// requires_grad_(false) was called.
  std::string summary() const;

  /// Whether the value with that name, or the output if the name is empty, is watched. A module calls this
  /// before it computes a value that only watchers need.
  bool is_watched(std::string_view name = {}) const { return !watches_.empty() && watches_.wants(name); }
  /// Whether anything in this module may be watched: false costs nothing.
  bool may_be_watched() const { return !watches_.empty(); }
  /// Adds a watch to this module and its descendants, which ends with its last owner: see watch.hpp.
  void add_watch(const std::shared_ptr<detail::Watch>& watch);
  /// Returns x, or what an Intervention puts in its place. Watchers see it as this module's path and `name`.
  Tensor point(std::string_view name, Tensor x) const {
    if (!watches_.empty()) return watches_.pass(name, std::move(x));
    return x;
  }
  /// The same for the result of the module, whose name is the module's path.
  Tensor output(Tensor x) const { return point({}, std::move(x)); }

 private:
  friend class EvaluationMode;
  bool training_ = true;
  detail::WatchList watches_;
};

namespace detail {
void own_tensors(Module& copy);
/// Puts made(old, is_parameter) in the places of all parameters and buffers, in the order in which `visit`
/// lists them; tied ones stay tied.
void replace_tensors(Module& module, const std::function<Tensor(const Tensor& old, bool is_parameter)>& made);
/// The tensor in the place of an old one: it requires gradients, or is frozen, as that did.
Tensor in_place_of(const Tensor& old, Tensor made);
/// Calls f for the module, whose path is empty, and for each one below it.
void for_each_module(Module& root, const std::function<void(const std::string& path, Module& module)>& f);
}  // namespace detail

/// A copy with parameters and buffers of its own. Their values and gradients, whether they are frozen, and
/// whether they are tied are as in the original. Weights that are only stored (dtype.hpp), tensors that
/// `visit` does not list, and hooks are not copied.
template <std::derived_from<Module> M>
M deep_copy(const M& module) {
  M copy = module;
  detail::own_tensors(copy);
  return copy;
}

/// Sets a module and its descendants to evaluation mode for its lifetime, then restores their modes.
class EvaluationMode {
 public:
  /// Saves the modes. Borrows the root.
  [[nodiscard]] explicit EvaluationMode(Module& root);
  ~EvaluationMode();
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> were_training_;
};

}  // namespace gradus::nn

/// Structured bindings of a NamedParameter bind the elements of its pair.
template <>
struct std::tuple_size<gradus::nn::NamedParameter> : std::integral_constant<size_t, 2> {};
/// The same.
template <size_t i>
struct std::tuple_element<i, gradus::nn::NamedParameter>
    : std::tuple_element<i, std::pair<std::string, gradus::Tensor>> {};

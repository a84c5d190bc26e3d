// Gradient hooks: functions that see, and may replace, the gradient of one tensor as backward passes by.
//
//   HookHandle handle = h.register_hook([](const Tensor& g) { return g * 0.5; });  // scales
//   x.register_hook([](const Tensor& g) { std::cout << g << "\n"; });              // only looks
//   handle.remove();
//
// A hook runs once a backward, when the whole gradient has arrived and before it is passed on (or into
// grad()), in the order of registration, each with the gradient that the one before returned; under
// create_graph its operations are recorded. A walk that stops before this tensor (grad() for inputs on other
// paths) does not run it. Write no values into the argument of a hook: return a new tensor.
//
// The hook lives as long as the tensor's place in the graph. One that captures a handle on its own tensor, or
// on a result of it, keeps both alive for ever: capture detach(), or remove it.
// Thread-safety: that of the tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// Anything that is called with a gradient and returns the new one, or nothing (an undefined tensor) to keep
/// it.
class GradHook {
 public:
  /// Keeps a copy of the callable.
  template <class F>
  requires(std::is_invocable_v<F&, const Tensor&> && !std::is_same_v<F, GradHook>)
      GradHook(F hook) {  // NOLINT: a lambda is the natural spelling
    if constexpr (std::is_void_v<std::invoke_result_t<F&, const Tensor&>>)
      call_ = [hook = std::move(hook)](const Tensor& g) mutable {
        hook(g);
        return Tensor();
      };
    else
      call_ = std::move(hook);
  }
  Tensor operator()(const Tensor& g) const { return call_(g); }  ///< undefined if g stays as it is

 private:
  std::function<Tensor(const Tensor&)> call_;
};

namespace autograd {

/// The hooks of one tensor.
class HookList {
 public:
  uint64_t add(GradHook hook);                   ///< behind the others; returns its id
  void remove(uint64_t id);                      ///< does nothing if it is gone already
  bool empty() const { return hooks_.empty(); }  ///< no hooks
  size_t size() const { return hooks_.size(); }  ///< how many
  /// Runs all in turn. Throws Error for a hook that returns another shape or dtype; `what` names the tensor.
  Tensor run(Tensor g, const std::function<std::string()>& what) const;

 private:
  struct Entry {
    uint64_t id;
    GradHook hook;
  };
  uint64_t next_id_ = 0;
  std::vector<Entry> hooks_;
};

}  // namespace autograd

/// Takes a hook away again; dropping the handle does not.
class HookHandle {
 public:
  HookHandle() = default;
  /// For Tensor::register_hook().
  HookHandle(const std::shared_ptr<autograd::HookList>& list, uint64_t id) : list_(list), id_(id) {}
  /// Does nothing if it is gone already, or the tensor is.
  void remove();

 private:
  std::weak_ptr<autograd::HookList> list_;
  uint64_t id_ = 0;
};

}  // namespace gradus

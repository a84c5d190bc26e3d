// Gradient hooks: functions that read, and may replace, the gradient of one tensor during backward.
//
//   HookHandle handle = h.register_hook([](const Tensor& g) { return g * 0.5; });  // scales
//   x.register_hook([](const Tensor& g) { std::cout << g << "\n"; });              // only reads
//   handle.remove();
//
// Hooks run once in each backward, when the whole gradient has arrived and before it is used, in the order of
// registration, each with the gradient that the previous one returned; under create_graph their operations
// are recorded. A backward that does not need this gradient (grad() for inputs on other paths) does not run
// them. A hook must not write into its argument; it returns a new tensor.
//
// The hook lives as long as the tensor's vertex in the graph. A hook that captures its own tensor, or a
// result of that tensor, keeps both the hook and the tensor alive: capture detach() instead, or remove the
// hook. Thread-safety: that of the tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// A callable that takes a gradient and returns the new one, or nothing (an undefined tensor) to keep it.
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
  Tensor operator()(const Tensor& g) const { return call_(g); }  ///< an undefined result: g is kept

 private:
  std::function<Tensor(const Tensor&)> call_;
};

namespace autograd {

/// The hooks of one tensor.
class HookList {
 public:
  uint64_t add(GradHook hook);                   ///< adds it after the others; returns its id
  void remove(uint64_t id);                      ///< does nothing if it was removed
  bool empty() const { return hooks_.empty(); }  ///< no hooks
  size_t size() const { return hooks_.size(); }  ///< how many
  /// Runs all in turn. Throws Error for a hook that returns another shape or dtype; `what` names the tensor.
  Tensor run(Tensor g, const std::function<std::string()>& what) const;

 private:
  uint64_t next_id_ = 0;
  std::map<uint64_t, GradHook> hooks_;  // by id, in the order of registration
};

}  // namespace autograd

/// A handle with which a hook can be removed. The destructor does not remove the hook.
class HookHandle {
 public:
  HookHandle() = default;
  /// For Tensor::register_hook().
  HookHandle(const std::shared_ptr<autograd::HookList>& list, uint64_t id) : list_(list), id_(id) {}
  /// Does nothing if the hook or the tensor does not exist any more.
  void remove();

 private:
  std::weak_ptr<autograd::HookList> list_;
  uint64_t id_ = 0;
};

}  // namespace gradus

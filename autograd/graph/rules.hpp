// Gradient rules as functions, and the tensors that they keep until backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// A tensor kept for backward. Using it throws Error if its values were overwritten since.
class Saved {
 public:
  /// Notes which version of its values it has.
  explicit Saved(const Tensor& tensor) : tensor_(tensor) {
    if (tensor.defined()) version_ = tensor.impl()->storage->version();
  }
  /// The tensor. Throws Error if it was overwritten.
  const Tensor& operator*() const {
    if (tensor_.defined() && tensor_.impl()->storage->version() != version_) refuse();
    return tensor_;
  }
  const Tensor* operator->() const { return &**this; }  ///< throws as above
  /// Throws as above.
  operator const Tensor&() const { return **this; }  // NOLINT: rules read best without a cast

 private:
  [[noreturn]] void refuse() const;
  Tensor tensor_;
  uint64_t version_ = 0;
};

/// Which inputs of a joint rule need their gradient; the rule may leave the others undefined. One bit stands
/// for all inputs from the 64th on.
class Needs {
 public:
  void set(size_t i) { bits_ |= bit(i); }  ///< input i needs it
  /// Whether input i needs it.
  bool operator[](size_t i) const { return (bits_ & bit(i)) != 0; }

 private:
  static uint64_t bit(size_t i) { return uint64_t{1} << (i < 63 ? i : 63); }
  uint64_t bits_ = 0;
};

/// All input gradients at once, for fused backward kernels: one tensor an input.
class JointRule {
 public:
  JointRule() = default;
  /// `rule(gy, needs)`, or `rule(gy, y, needs)`, which keeps the op's output y until backward.
  template <class F, class = std::enable_if_t<!std::is_same_v<F, JointRule>>>
  JointRule(F rule) {  // NOLINT: record() takes rules as they are written
    if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&, Needs>) {
      rule_ = std::move(rule);
      wants_output_ = true;
    } else {
      rule_ = [rule = std::move(rule)](const Tensor& gy, const Tensor&, Needs needs) mutable {
        return rule(gy, needs);
      };
    }
  }

  explicit operator bool() const { return rule_ != nullptr; }  ///< whether there is one
  bool wants_output() const { return wants_output_; }          ///< whether it was given y
  /// One tensor an input, undefined where needs says so.
  std::vector<Tensor> operator()(const Tensor& gy, const Tensor& y, Needs needs) const {
    return rule_(gy, y, needs);
  }

 private:
  std::function<std::vector<Tensor>(const Tensor&, const Tensor&, Needs)> rule_;
  bool wants_output_ = false;
};

/// All input gradients from all result gradients: (gys, ys, needs) -> one tensor an input, undefined where
/// needs says so. The gradient of a result that nothing used is zeros; that of an integer result undefined.
using ManyRule = std::function<std::vector<Tensor>(const std::vector<Tensor>& gys,
                                                   const std::vector<Tensor>& ys, Needs needs)>;

}  // namespace gradus

namespace gradus::autograd {

/// The op whose rule the engine of this thread runs; empty if none. The engine writes it.
extern constinit thread_local std::string_view running_op;

/// The same for messages.
std::string_view op_in_backward();

template <class Signature, size_t kCapacity>
class InlineFunction;

/// std::function for move-only callables of at most kCapacity bytes, held in place and never on the heap. A
/// larger callable does not compile.
template <class R, class... Args, size_t kCapacity>
class InlineFunction<R(Args...), kCapacity> {
 public:
  InlineFunction() = default;

  /// Holds f.
  template <class F>
  requires(std::is_invocable_r_v<R, F&, Args...> &&
           !std::is_same_v<F, InlineFunction>) explicit InlineFunction(F f) {
    static_assert(sizeof(F) <= kCapacity, "the captures are too large: keep fewer or smaller ones");
    static_assert(std::is_nothrow_move_constructible_v<F>);
    new (bytes_) F(std::move(f));
    call_ = [](void* self, Args... args) -> R { return (*static_cast<F*>(self))(args...); };
    move_or_destroy_ = [](void* from, void* to) {
      F* held = static_cast<F*>(from);
      if (to) new (to) F(std::move(*held));
      held->~F();
    };
  }

  InlineFunction(InlineFunction&& other) noexcept { take(other); }
  InlineFunction& operator=(InlineFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~InlineFunction() { reset(); }

  explicit operator bool() const { return call_ != nullptr; }    ///< whether it holds one
  R operator()(Args... args) { return call_(bytes_, args...); }  ///< it must hold one

  /// Destroys the callable.
  void reset() {
    if (call_) move_or_destroy_(bytes_, nullptr);
    call_ = nullptr;
  }

 private:
  void take(InlineFunction& other) {
    if (other.call_) other.move_or_destroy_(other.bytes_, bytes_);
    move_or_destroy_ = other.move_or_destroy_;
    call_ = std::exchange(other.call_, nullptr);
  }

  R (*call_)(void*, Args...) = nullptr;
  void (*move_or_destroy_)(void* from, void* to) = nullptr;
  alignas(std::max_align_t) std::byte bytes_[kCapacity];
};

}  // namespace gradus::autograd

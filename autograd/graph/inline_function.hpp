// InlineFunction: std::function for move-only callables, held in place and never on the heap. A callable that
// does not fit does not compile.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace gradus::autograd {

template <class Signature, size_t kCapacity>
class InlineFunction;

/// A callable of at most kCapacity bytes, or none.
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

  /// Lets go of what it holds.
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

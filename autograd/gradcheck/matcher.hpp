// PassesGradcheck: gradcheck as a matcher, for Catch2 2 and 3 alike.
//
//   CHECK_THAT(my_op, PassesGradcheck({x, w}));             // my_op(x, w), orders 1 and 2
//   CHECK_THAT(my_op, PassesGradcheck({x}, {.order = 1}));
//
// A failed check prints gradcheck's message. Needs no header of Catch2: a matcher is what has match() and
// toString(). Thread-safe as gradcheck is.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/files/error.hpp"

namespace gradus {

class PassesGradcheck {
 public:
  /// The inputs at which the function is checked.
  explicit PassesGradcheck(std::vector<Tensor> inputs, const GradcheckOptions& options = {.order = 2})
      : inputs_(std::move(inputs)), options_(options) {}

  /// f is called with the inputs one by one, up to four of them, or with all in a vector.
  template <class F>
  bool match(const F& f) const {
    report_ = gradcheck([&f](const std::vector<Tensor>& x) { return call(f, x); }, inputs_, options_);
    return report_.passed;
  }

  /// For Catch2, after match().
  std::string toString() const {
    return report_.passed ? "passes gradcheck" : "must pass gradcheck, but: " + report_.message;
  }

 private:
  template <class F>
  static Tensor call(const F& f, const std::vector<Tensor>& x) {
    constexpr bool any = std::invocable<const F&, const std::vector<Tensor>&> || takes<F, 1> || takes<F, 2> ||
                         takes<F, 3> || takes<F, 4>;
    static_assert(any, "f must take the inputs one by one or as a vector");
    if constexpr (std::invocable<const F&, const std::vector<Tensor>&>) return f(x);
    if constexpr (takes<F, 1>)
      if (x.size() == 1) return f(x[0]);
    if constexpr (takes<F, 2>)
      if (x.size() == 2) return f(x[0], x[1]);
    if constexpr (takes<F, 3>)
      if (x.size() == 3) return f(x[0], x[1], x[2]);
    if constexpr (takes<F, 4>)
      if (x.size() == 4) return f(x[0], x[1], x[2], x[3]);
    fail("gradcheck", "f must take as many tensors as there are inputs, got ", x.size(), " inputs.");
  }

  template <class F, size_t... I>
  static constexpr bool takes_each(std::index_sequence<I...>) {
    return std::invocable<const F&, decltype((void(I), std::declval<const Tensor&>()))...>;
  }
  template <class F, size_t kCount>
  static constexpr bool takes = takes_each<F>(std::make_index_sequence<kCount>());

  std::vector<Tensor> inputs_;
  GradcheckOptions options_;
  mutable GradcheckReport report_;
};

}  // namespace gradus

// Checks of properties that a decoder must have, for tests.
//
//   CHECK(check_causal(model, x));            // no output depends on a later input, not even by one bit
//   CHECK(check_batch_invariant(model, x));   // a row has the same outputs alone and in a batch
//   CHECK(check_kv_cache(model, x));          // decode() computes what a full call computes
//
// A model is anything that can be called model(x): a Module, a lambda, a function. x: (B, T, C) values or (B,
// T) int64 tokens. Use small sizes: a check calls the model about T or B times, each time with a copy of x.
//
// A Module is checked in evaluation mode; it and its children return to their modes afterwards, also after an
// exception. A const Module is called in its current mode. To check training mode, pass a lambda that calls
// the model with a new generator of the same seed each time.
//
// Errors of the model pass through, except those of decode(). Thread-safety: a check changes the model's
// mode, so nothing else may use the model meanwhile.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// The result of a check.
struct CheckReport {
  bool passed = false;  ///< whether the property holds
  /// The largest change of an output that must not change, in the output's units; infinite where a number
  /// became NaN or a NaN a number.
  double worst = 0;
  std::string message;  ///< one line: the property, and the place of the violation
  explicit operator bool() const { return passed; }  ///< so that CHECK(check_causal(...)) reads well
};

std::ostream& operator<<(std::ostream& os, const CheckReport& report);  ///< the message

namespace detail {

using Function = std::function<Tensor(const Tensor&)>;

Tensor clone(const Tensor& x);                 // undefined stays undefined
bool equal(const Tensor& a, const Tensor& b);  // in all bits, but for those of NaN; of one shape

/// A Module that is not const.
template <class F>
concept ChangeableModule =
    std::derived_from<std::remove_reference_t<F>, Module> && !std::is_const_v<std::remove_reference_t<F>>;

/// Empty if f is not a Module that can be changed.
template <class F>
std::optional<EvaluationMode> evaluation_mode(F& f) {
  if constexpr (ChangeableModule<F>)
    return std::optional<EvaluationMode>(std::in_place, f);
  else
    return std::optional<EvaluationMode>();
}

}  // namespace detail

/// Options of check_causal().
struct CausalOptions {
  /// The dimension of x and of the outputs that is time. Default: the last one of tokens (..., T), the last
  /// but one of values (..., T, C).
  std::optional<int64_t> dim{};
  /// Largest change allowed, relative to the largest output. 0 requires equal bits, which deterministic
  /// operations on equal shapes give.
  double tolerance = 0.0;
  /// Changed values are drawn from normal(0, scale^2). 1e12 produces scores above an added mask of -1e9. NaN
  /// also finds values that are multiplied by 0, as most models do in softmax(masked scores) @ v.
  double scale = 1.0;
  /// Changed tokens are drawn from [0, vocab_size); 0: between the smallest and the largest of x.
  int64_t vocab_size = 0;
  uint64_t seed = 0;  ///< of the changed values or tokens
};

namespace detail {

CheckReport check_causal(const Function& f, const Tensor& x, const CausalOptions& options);
CheckReport check_batch_invariant(const Function& f, const Tensor& x, std::optional<double> tolerance);

using Drawing = std::function<Tensor(const Tensor&, Generator*)>;
CheckReport check_eval_deterministic(const Drawing& model, const Tensor& x);

/// A cache together with the model that fills it.
struct CachedSequence {
  std::function<Tensor(const Tensor&)> decode;
  std::function<void()> clear;  ///< empty if the cache has no clear()
};
CheckReport check_kv_cache(const Function& model, const std::function<CachedSequence()>& start,
                           const Tensor& x, std::optional<double> tolerance);

}  // namespace detail

/// No output may depend on a later input: for each position t >= 1, changes x from t on and compares the
/// outputs before t. The report names one such output and the largest distance to such an input. f: (B, T,
/// ...) -> (B, T, ...), or with T elsewhere (see `dim`). Throws Error unless x is float32, float64 or int64
/// with T >= 2 and can be changed as the options require, and if f's output has another T.
template <class F>
CheckReport check_causal(F&& f, const Tensor& x, const CausalOptions& options = {}) {
  const auto mode = detail::evaluation_mode(f);
  return detail::check_causal([&f](const Tensor& in) { return f(in); }, x, options);
}

/// The rows of a batch must be independent: x with its rows in another order must give the same outputs in
/// that order, and each row alone its outputs in the batch. f: (B, ...) -> (B, ...). `tolerance` is relative
/// to the largest output, by default 1e-5 for float32 outputs, 1e-12 for float64 and 0 for others: a product
/// of another size may sum in another order. Throws Error unless B >= 2 and rows differ, and for outputs of
/// other shapes.
template <class F>
CheckReport check_batch_invariant(F&& f, const Tensor& x, std::optional<double> tolerance = {}) {
  const auto mode = detail::evaluation_mode(f);
  return detail::check_batch_invariant([&f](const Tensor& in) { return f(in); }, x, tolerance);
}

/// Evaluation must not draw: two calls must give the same bits and, for a model(x, Generator*), leave the
/// generator unchanged. Finds dropout that eval() does not reach, for example in a layer that `visit` does
/// not list. x may have any shape that the model takes. Throws Error if x is empty.
template <detail::ChangeableModule M>
CheckReport check_eval_deterministic(M&& model, const Tensor& x) {
  const EvaluationMode mode(model);
  return detail::check_eval_deterministic(
      [&model](const Tensor& in, Generator* dropout) {
        if constexpr (std::invocable<M&, const Tensor&, Generator*>)
          return model(in, dropout);
        else
          return model(in);
      },
      x);
}

/// decode() must give what model(x) gives in evaluation mode: for all positions at once, one by one, in
/// uneven pieces, in turn with a second sequence in another cache, and in a cache used before and cleared, if
/// caches have clear(). The model has make_cache(B, T) or make_cache(B), and decode(x, cache), which returns
/// the outputs of the given positions, (B, t, ...), or of the last of them, (B, ...); a models::Decoder has
/// another interface. x: (B, T) or (B, T, C). `tolerance` as in check_batch_invariant. An Error of decode()
/// fails the check. Throws Error unless T >= 2 and positions differ, and for outputs of other shapes.
template <class M>
CheckReport check_kv_cache(M&& model, const Tensor& x, std::optional<double> tolerance = {}) {
  const auto make_cache = [&model, &x] {
    if constexpr (requires { model.make_cache(int64_t{}, int64_t{}); })
      return model.make_cache(x.size(0), x.size(1));
    else
      return model.make_cache(x.size(0));
  };
  const auto start = [&model, &make_cache] {
    const auto cache = std::make_shared<decltype(make_cache())>(make_cache());
    detail::CachedSequence sequence;
    sequence.decode = [&model, cache](const Tensor& in) { return model.decode(in, *cache); };
    if constexpr (requires { cache->clear(); }) sequence.clear = [cache] { cache->clear(); };
    return sequence;
  };
  const auto mode = detail::evaluation_mode(model);
  return detail::check_kv_cache([&model](const Tensor& in) { return model(in); }, start, x, tolerance);
}

}  // namespace gradus::nn

// Checks: properties that a decoder must have, each asked in one line of a test.
//
//   CHECK(check_causal(model, x));            // no output sees a later input, by one bit
//   CHECK(check_batch_invariant(model, x));   // a row is the same alone and in a batch
//   CHECK(check_kv_cache(model, x));          // generation computes what training did
//
// A model is anything that is called model(x): a Module, a lambda, a function. x is what it reads: (B, T, C)
// values or (B, T) int64 tokens. Small sizes are enough, and wanted: a model is called about T or B times.
// Each call gets a copy of x, and what comes out is copied, so that models may write into either.
//
// Modes: a Module is checked in evaluation mode; it and all below it get their own modes back afterwards, by
// an exception too. One that is const is called in the mode it is in. To check training mode, hand in a
// lambda that calls the model with a fresh generator of the same seed each time.
//
// Errors that a model throws pass through, but for those of decode(). Ownership: nothing is kept.
// Thread-safety: a check changes the model's mode, so nothing else may use the model meanwhile.
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

/// What a check found.
struct CheckReport {
  bool passed = false;  ///< whether the property holds
  /// The largest change of an output that should have stayed, in the output's units; infinite where a number
  /// became NaN or the other way round.
  double worst = 0;
  std::string message;                               ///< one line: what must hold and what was seen, where
  explicit operator bool() const { return passed; }  ///< so that CHECK(check_causal(...)) reads well
};

std::ostream& operator<<(std::ostream& os, const CheckReport& report);  ///< the message

namespace detail {

using Function = std::function<Tensor(const Tensor&)>;

/// A Module that is not const.
template <class F>
concept ChangeableModule = std::convertible_to < std::remove_reference_t<F>
*, Module* > ;

/// Empty if f is not a Module that can be changed.
template <class F>
std::optional<EvaluationMode> evaluation_mode(F& f) {
  if constexpr (ChangeableModule<F>) {
    return std::optional<EvaluationMode>(std::in_place, f);
  } else {
    return std::nullopt;
  }
}

}  // namespace detail

/// How check_causal() changes x, and what it allows.
struct CausalOptions {
  /// Which dimension of x and of the outputs is time. If absent the last one of tokens (..., T), the last
  /// but one of values (..., T, C).
  std::optional<int64_t> dim{};
  /// Largest change allowed, as a part of the largest output. 0: the bits must be the same, which is
  /// right for deterministic ops, as the shapes are equal.
  double tolerance = 0.0;
  /// Changed values are drawn from normal(0, scale^2). 1e12 finds a mask of -1e9 that is added, which such
  /// scores outdo. NaN asks more than most models promise: it finds what is hidden by a product with 0, as
  /// the values are in softmax(masked scores) @ v.
  double scale = 1.0;
  /// Changed tokens are other ones of [0, vocab_size); 0: between the smallest and the largest of x.
  int64_t vocab_size = 0;
  uint64_t seed = 0;  ///< of what is drawn
};

namespace detail {
CheckReport check_causal(const Function& f, const Tensor& x, const CausalOptions& options);
CheckReport check_batch_invariant(const Function& f, const Tensor& x, std::optional<double> tolerance);
}  // namespace detail

/// No output may depend on a later input: for each position t >= 1, changes x from t on and compares the
/// outputs before t. The report says how far ahead an output sees, and shows one that does. f: (B, T, ...) ->
/// (B, T, ...), or with T elsewhere (see `dim`). Throws Error unless x is float32, float64 or int64 with T >=
/// 2 and can be changed as asked, and if f's output has another T.
template <class F>
CheckReport check_causal(F&& f, const Tensor& x, const CausalOptions& options = {}) {
  const auto mode = detail::evaluation_mode(f);
  return detail::check_causal([&f](const Tensor& in) { return f(in); }, x, options);
}

/// Rows of a batch must not know of each other: the rows of x in another order must give the same outputs in
/// that order, and each row alone what it gives in the batch. f: (B, ...) -> (B, ...). `tolerance` is a part
/// of the largest output, by default 1e-5 for float32 outputs, 1e-12 for float64 and 0 for others: a product
/// of another size may add up in another order. Throws Error unless B >= 2 and rows differ, and if f's
/// outputs have other shapes than these.
template <class F>
CheckReport check_batch_invariant(F&& f, const Tensor& x, std::optional<double> tolerance = {}) {
  const auto mode = detail::evaluation_mode(f);
  return detail::check_batch_invariant([&f](const Tensor& in) { return f(in); }, x, tolerance);
}

namespace detail {

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

/// Evaluation draws nothing: two calls must give the same bits, and leave the generators alone that a
/// model(x, Generator*) is given. Finds dropout left on, as by a layer that `visit` does not list. x of any
/// shape that the model takes. Throws Error if x is empty.
template <detail::ChangeableModule M>
CheckReport check_eval_deterministic(M&& model, const Tensor& x) {
  const EvaluationMode mode(model);
  return detail::check_eval_deterministic(
      [&model](const Tensor& in, Generator* dropout) {
        if constexpr (std::invocable<M&, const Tensor&, Generator*>) {
          return model(in, dropout);
        } else {
          return model(in);
        }
      },
      x);
}

/// decode() must give what model(x) gives in evaluation mode: all positions at once, one by one, in
/// uneven pieces, the same beside a second sequence with a cache of its own, and in a cache used before and
/// cleared, if caches have clear(). For models that have make_cache(B, T) or make_cache(B), and decode(x,
/// cache), which returns the outputs of the positions it was given, (B, t, ...), or of the last of them, (B,
/// ...). x: (B, T) or (B, T, C). `tolerance` as in check_batch_invariant. An Error that decode throws fails
/// the check. Throws Error unless T >= 2 and positions differ, and if outputs have other shapes than these.
template <class M>
CheckReport check_kv_cache(M&& model, const Tensor& x, std::optional<double> tolerance = {}) {
  const auto make_cache = [&model, &x] {
    if constexpr (requires { model.make_cache(int64_t{}, int64_t{}); }) {
      return model.make_cache(x.size(0), x.size(1));
    } else {
      return model.make_cache(x.size(0));
    }
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

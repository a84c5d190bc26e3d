// check_module(): checks a model with its loss on one batch, as one does before a long run (Karpathy, "A
// recipe for training neural networks"; Stanford CS231n, "sanity checks").
//
//   CHECK(check_module(model, {x, y}, [](const Tensor& logits, const Tensor& y) {  // prints one line a check
//     return cross_entropy(logits, y);
//   }));
//
//   parameters     each is a leaf that requires a gradient, unless requires_grad_(false) has frozen it
//   listed         the loss depends on no other leaf: visit lists all parameters
//   tied           tied parameters are one tensor in all places, also after to() and in a copy of the model
//   inputs         a call overwrites neither the batch nor the parameters
//   repeats        two calls with one seed give the same loss and gradients, and set no gradient
//   chance         the loss at the start is that of a guess
//   overfit        gradient steps can fit the batch
//   gradients      each parameter gets finite gradients that are not all zero, and changes in different rows
//   deterministic  evaluation draws nothing and gives the same bits twice: finds dropout that eval() misses
//   dropout        each Dropout changes the loss in training mode
//   examples       an example gives the same alone, in the batch, and in another order
//   mean           the loss is a mean: it stays the same for the batch twice
//   causal         no output depends on a later input: check_causal()
//   decode         decode() gives what a full call gives: for all positions at once, one by one, in uneven
//                  pieces, in turn with a second cache, and in a cleared cache, if caches have clear()
//   state          load_state_dict() brings back the loss at the time of state_dict()
//   float64        the loss in float64 agrees with float32
//   gradcheck      the gradients of the parameters agree with differences
//
// From `deterministic` on, parameters are changed at random first: initial values of 0 hide faults. The
// checks work on copies: the model keeps its parameters, buffers, gradients and modes, also after an
// exception. Thread-safety: nothing else may use the model meanwhile.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// The batch of check_module(): any type with these members, such as data::Batch.
struct CheckBatch {
  Tensor x;  ///< inputs, (B, ...), of any dtype
  Tensor y;  ///< targets, (B, ...); undefined if there are none
};

/// Options of check_module().
struct ModuleCheckOptions {
  std::vector<std::string> skip{};  ///< names of checks that are left out
  std::vector<std::string> only{};  ///< names of the checks that are made; empty: all
  /// The loss of a guess. Default: log V if the loss is the cross_entropy() of outputs (..., V), else the
  /// check is left out.
  std::optional<double> chance_loss{};
  /// Allowed distance of the first loss from chance_loss; for the default log V, 2 / sqrt(targets) is added.
  double chance_tolerance = 0.5;
  /// Whether no output may depend on a later input. Default: if x, y are tokens (B, T), y one step later.
  std::optional<bool> causal{};
  int64_t steps = 300;      ///< of gradient descent, at most
  double lr = 1e-2;         ///< how much the first step changes a parameter; later ones change it less
  double overfit_to = 0.1;  ///< the share of the first loss that must be reached
  int order = 1;            ///< of the gradcheck
  uint64_t seed = 0;        ///< of all random numbers
};

/// The result of one check.
struct CheckFinding {
  /// Whether the check passed, failed or did not run.
  enum Outcome { passed, failed, left_out };
  std::string name;     ///< of the check
  Outcome outcome;      ///< its result
  std::string message;  ///< one line: what must hold, what was found, where to look; or why it was left out
  explicit operator bool() const {
    return outcome != failed;
  }  ///< so that CHECK(check_causal(...)) reads well
};
std::ostream& operator<<(std::ostream& os, const CheckFinding& finding);  ///< the name and the message

/// Options of check_causal().
struct CausalOptions {
  /// Largest change allowed, relative to the largest output. 0 requires equal bits, which deterministic
  /// operations on equal shapes give.
  double tolerance = 0.0;
  /// Changed tokens are drawn from [0, vocab_size); 0: between the smallest and the largest of x.
  int64_t vocab_size = 0;
};

/// The result of check_module().
struct ModuleReport {
  std::vector<CheckFinding> findings;                          ///< one for each check, in their order
  std::vector<std::string> failed() const;                     ///< the names of the checks that failed
  explicit operator bool() const { return failed().empty(); }  ///< whether none failed
};

/// One line for each check.
std::ostream& operator<<(std::ostream& os, const ModuleReport& report);

namespace detail {

using OutputsOf = std::function<Tensor(const Tensor& x)>;

/// A cache together with the model that fills it.
struct CachedSequence {
  OutputsOf decode;
  std::function<void()> clear;  // empty if the cache has no clear()
};

/// A model with its batch, and the calls that the checks make. Callables but loss may be empty.
struct CheckedModule {
  Module& model;
  Tensor x, y;
  std::function<Tensor(const Tensor& x, const Tensor& y, Generator* dropout)> loss;
  std::function<Tensor(const Tensor& x, Generator* dropout)> outputs{};
  std::function<CachedSequence()> start{};
  std::function<NamedParameters()> copy{};  // the parameters of a copy
};

ModuleReport check_module(const CheckedModule& checked, const ModuleCheckOptions& options);
CheckFinding check_causal(const OutputsOf& f, const Tensor& x, const CausalOptions& options);

}  // namespace detail

/// The check `causal` alone, of anything that can be called f(x): for each position t >= 1, changes x from t
/// on and compares the outputs before t. Names an output that sees the most positions ahead. f: values (...,
/// T, C) or tokens (..., T) -> (..., T, ...). A Module is called in evaluation mode, unless it is const.
/// Throws Error unless T >= 2 and x can be changed as the options require, and if f's output has another T.
template <class F>
CheckFinding check_causal(F&& f, const Tensor& x, const CausalOptions& options = {}) {
  using M = std::remove_reference_t<F>;
  std::optional<EvaluationMode> mode;
  if constexpr (std::derived_from<M, Module> && !std::is_const_v<M>) mode.emplace(f);
  return detail::check_causal([&f](const Tensor& in) { return f(in); }, x, options);
}

/// Runs all checks named above. `loss` is a mean over the examples of a batch, a scalar: loss(model, x, y,
/// Generator* dropout), loss(model, x, y) or loss(outputs, y) for outputs model(x, dropout) or model(x); or a
/// train::Recipe's loss(batch, dropout) or loss(batch). Use a small model of the same kind and a small batch
/// of different examples: `causal` calls the model T times, `gradcheck` about 15 times for each parameter.
/// Throws Error for an unknown name in skip or only, and passes on what the first call of the loss throws;
/// later errors are findings.
template <std::derived_from<Module> M, class Batch = CheckBatch, class F>
ModuleReport check_module(M& model, const Batch& batch, F loss, const ModuleCheckOptions& options = {}) {
  using T = const Tensor&;
  detail::CheckedModule checked{model, batch.x, batch.y, {}};
  if constexpr (std::is_invocable_r_v<Tensor, M&, T, Generator*>)
    checked.outputs = [&](T x, Generator* dropout) { return model(x, dropout); };
  else if constexpr (std::is_invocable_r_v<Tensor, M&, T>)
    checked.outputs = [&](T x, Generator*) { return model(x); };
  if constexpr (std::is_invocable_r_v<Tensor, F&, M&, T, T, Generator*>) {
    checked.loss = [&](T x, T y, Generator* dropout) { return loss(model, x, y, dropout); };
  } else if constexpr (std::is_invocable_r_v<Tensor, F&, M&, T, T>) {
    checked.loss = [&](T x, T y, Generator*) { return loss(model, x, y); };
  } else if constexpr (std::is_invocable_r_v<Tensor, F&, T, T>) {
    checked.loss = [&](T x, T y, Generator* dropout) { return loss(checked.outputs(x, dropout), y); };
  } else {
    checked.loss = [&](T x, T y, Generator* dropout) {
      Batch changed = batch;
      changed.x = x;
      changed.y = y;
      if constexpr (std::is_invocable_r_v<Tensor, F&, const Batch&, Generator*>)
        return loss(changed, dropout);
      else
        return loss(changed);
    };
  }
  const auto make_cache = [&](auto& of) {
    if constexpr (requires { of.make_cache(int64_t{}, int64_t{}); })
      return of.make_cache(batch.x.size(0), batch.x.size(1));
    else if constexpr (requires { of.make_cache(int64_t{}); })
      return of.make_cache(batch.x.size(0));
  };
  if constexpr (!std::is_void_v<decltype(make_cache(model))>)
    checked.start = [&] {
      const auto cache = std::make_shared<decltype(make_cache(model))>(make_cache(model));
      detail::CachedSequence sequence{[&model, cache](T in) { return model.decode(in, *cache); }, {}};
      if constexpr (requires { cache->clear(); } && !std::ranges::range<decltype(*cache)>)
        sequence.clear = [cache] { cache->clear(); };
      return sequence;
    };
  if constexpr (std::copy_constructible<M>) checked.copy = [&] { return M(model).named_parameters(); };
  return detail::check_module(checked, options);
}

}  // namespace gradus::nn

// Recipe: all that determines the result of a run: the loss, the batches, the optimizer, the learning rate
// and the settings of the loop. Each part can be replaced.
//
// A callable that borrows an object, such as the model, must not outlive it.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "gradus/autograd/random/random.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/optimizers/optimizer.hpp"
#include "gradus/train/trainer/loop_options.hpp"
#include "gradus/train/trainer/schedule.hpp"

namespace gradus::train {

/// The loss to minimize: the mean over the targets, y, of a batch, as a scalar. The batches of a step count
/// by their numbers of targets, those without any not at all. Converts from any callable of a batch, or of a
/// batch and a `Generator* dropout`, which is null outside of training.
class Loss {
 public:
  Loss() = default;
  /// Keeps a copy of the callable.
  template <class F>
  requires(!std::same_as<F, Loss>) Loss(F f) {  // NOLINT: converts from lambdas
    constexpr bool drops = std::is_invocable_r_v<Tensor, F&, const data::Batch&, Generator*>;
    constexpr bool is_plain = std::is_invocable_r_v<Tensor, F&, const data::Batch&>;
    static_assert(drops || is_plain,
                  "a loss must be callable as Tensor(const data::Batch&) or as Tensor(const data::Batch&, "
                  "Generator* dropout)");
    if constexpr (drops)
      f_ = std::move(f);
    else if constexpr (is_plain)
      f_ = [f = std::move(f)](const data::Batch& batch, Generator*) mutable { return f(batch); };
  }

  /// Calls the callable, which must be there.
  Tensor operator()(const data::Batch& batch, Generator* dropout = nullptr) const {
    return f_(batch, dropout);
  }
  explicit operator bool() const { return static_cast<bool>(f_); }  ///< whether there is a callable

 private:
  std::function<Tensor(const data::Batch&, Generator*)> f_;
};

/// Draws the next `batch` examples. Converts from any callable of `batch` and a generator, from which all
/// randomness comes, or of these and `drawn`, the number of examples that the run has drawn before.
class BatchSource {
 public:
  BatchSource() = default;
  /// Keeps a copy of the callable.
  template <class F>
  requires(!std::same_as<F, BatchSource>) BatchSource(F f) {  // NOLINT: converts from lambdas
    constexpr bool counts = std::is_invocable_r_v<data::Batch, F&, int64_t, Generator&, int64_t>;
    constexpr bool is_plain = std::is_invocable_r_v<data::Batch, F&, int64_t, Generator&>;
    static_assert(counts || is_plain,
                  "a source of batches must be callable as data::Batch(int64_t batch, Generator&) or as "
                  "data::Batch(int64_t batch, Generator&, int64_t drawn)");
    if constexpr (counts)
      f_ = std::move(f);
    else if constexpr (is_plain)
      f_ = [f = std::move(f)](int64_t batch, Generator& generator, int64_t) mutable {
        return f(batch, generator);
      };
  }

  /// Calls the callable, which must be there.
  data::Batch operator()(int64_t batch, Generator& generator, int64_t drawn = 0) const {
    return f_(batch, generator, drawn);
  }
  explicit operator bool() const { return static_cast<bool>(f_); }  ///< whether there is a callable

 private:
  std::function<data::Batch(int64_t, Generator&, int64_t)> f_;
};

/// The learning rate of a step, counted from 0. A Schedule is one.
using Rate = std::function<double(int64_t step)>;

struct StepReport;
/// The number of steps of the whole run, decided after each step. The run ends when they are done; fewer than
/// the steps done end it at once.
using Budget = std::function<int64_t(const StepReport& report)>;

struct Recipe {
  Loss loss;                                  ///< is minimized; required
  BatchSource batches;                        ///< the source of batches; required
  std::unique_ptr<Optimizer> optimizer = {};  ///< none: AdamW with its defaults
  Rate schedule = {};     ///< none: a Schedule with its defaults, and a twentieth of the steps as warm-up
  Budget budget = {};     ///< none: the run has loop.steps steps
  LoopOptions loop = {};  ///< steps, batch size, evaluations, saves

  /// Throws Error with the first wrong field, the values that it may have, and its value.
  void validate() const {
    if (!loss) fail("recipe", "`loss` must be a callable from a batch to a scalar, got none.");
    if (!batches) fail("recipe", "`batches` must be a callable that draws a batch, got none.");
    loop.validate();
  }
};

}  // namespace gradus::train

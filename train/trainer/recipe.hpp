// Recipe: all that decides what a run learns: what to make small, on which examples, by which rule, at which
// rate. Its parts can be replaced one at a time.
//
// A callable that borrows, as one that calls a model does, must not outlive what it borrows.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gradus/autograd/random/random.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/train/optimizers/optimizer.hpp"
#include "gradus/train/trainer/schedule.hpp"

namespace gradus::train {

/// A scalar to make small: the mean over the targets, y, of a batch. Any callable of a batch will do, and any
/// of a batch and a `Generator* dropout`, for what drops at random; that is null outside of training.
class Loss {
 public:
  Loss() = default;
  /// Keeps a copy of the callable.
  template <class F>
  requires(!std::same_as<F, Loss>) Loss(F f) {  // NOLINT: a lambda is the natural spelling
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

  /// The scalar (). There must be a callable.
  Tensor operator()(const data::Batch& batch, Generator* dropout = nullptr) const {
    return f_(batch, dropout);
  }
  explicit operator bool() const { return static_cast<bool>(f_); }  ///< whether there is a callable

 private:
  std::function<Tensor(const data::Batch&, Generator*)> f_;
};

/// Draws the next `batch` examples from the generator it is handed, and from nothing else.
using BatchSource = std::function<data::Batch(int64_t batch, Generator& generator)>;

/// The learning rate of a step, counted from 0. A Schedule is one.
using Rate = std::function<double(int64_t step)>;

struct Recipe {
  Loss loss;                                  ///< what to make small; there must be one
  BatchSource batches;                        ///< on which examples; there must be one
  std::unique_ptr<Optimizer> optimizer = {};  ///< none: AdamW with its defaults
  Rate schedule = {};                         ///< none: Schedule's rates, a twentieth of the steps to warm up

  int64_t steps = 2000;  ///< updates in all
  int64_t batch = 12;    ///< examples in a micro-batch
  int64_t accum = 1;     ///< micro-batches a step
  double clip = 1.0;     ///< largest norm of the gradient; 0 does not clip
  int64_t seed = 1337;   ///< of batches and dropout
  /// What evaluations and the best model use instead of the parameters: means of them over the steps, of
  /// which each step keeps ema, at first step / (step + 10) if that is less. 0: the parameters themselves.
  double ema = 0.0;
  /// Of matrix products, in steps and evaluations: float32 or bfloat16 (Autocast).
  DType precision = DType::float32;

  // Looking and saving; neither changes what is learnt.
  int64_t eval_every = 500;  ///< steps
  /// So many evaluations one after another without a new lowest loss end the run; 0: none do.
  int64_t patience = 0;
  int64_t save_every = 500;  ///< steps
  int64_t keep = 0;          ///< states of the last so many saves stay, beside the newest

  /// Throws Error that names the first field that is wrong, what must hold and what came.
  void validate() const;
};

/// The numbers of a recipe as the text of train.json, which says that the model is one's own.
std::string to_json(const Recipe& recipe);
/// A recipe with the numbers that to_json() wrote, and no callables. Throws Error, naming `file` and the key,
/// for what is missing, unknown or of the wrong type.
Recipe recipe_from_json(std::string_view json, const std::string& file);
/// Is this the train.json of a model of one's own? Throws Error if it is no JSON.
bool is_recipe(std::string_view json, const std::string& file);

/// Throws Error, naming it, if a number differs that a run must keep when it goes on.
void check_goes_on(const Recipe& recipe, const Recipe& saved);

}  // namespace gradus::train

// Trainer: a model, a recipe and the streams of random numbers; one call is one step.
//
// It knows nothing of files or screens (see run.hpp), but for one warning. The model is borrowed and must
// outlive it; make the trainer after Module::to(), which replaces parameters. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"
#include "gradus/train/optimizers/weight_average.hpp"
#include "gradus/train/trainer/recipe.hpp"

namespace gradus::train {

/// What one step did.
struct StepReport {
  int64_t step = 0;      ///< steps done, this one included
  double loss = 0;       ///< mean over the step's targets before the update; nats a token for the decoder
  double lr = 0;         ///< learning rate of the update
  double grad_norm = 0;  ///< before clipping
  double seconds = 0;    ///< that the step took
  int64_t tokens = 0;    ///< targets
  double elapsed =
      0;  ///< seconds of running since the first step, those before a resume too; run() fills it in
};

/// What a trainer needs, beside parameters, to go on as if it had never stopped.
struct TrainerState {
  nn::StateDict optimizer;                  ///< Optimizer::state_dict(), and that of the WeightAverage
  int64_t step = 0;                         ///< steps done
  std::string data_stream, dropout_stream;  ///< Generator::state() of both
};

class Trainer {
 public:
  /// Throws Error if the recipe is not valid. A line on std::cerr names the parameters that require no
  /// gradient, unless requires_grad_(false) was called on them.
  Trainer(nn::Module& model, Recipe recipe);

  /// One update from accum micro-batches, whose mean gradient is that of one batch of accum * batch
  /// examples. Throws RunError, with the parameters as they were, if the loss or the gradient is not finite;
  /// and what the recipe's `batches` throw, with the streams of random numbers as they were too.
  StepReport step();
  int64_t steps_done() const { return step_; }  ///< those before a restore() included
  /// From the next step on, the steps' ops, and batch, clip and update, go to this profile, which is
  /// borrowed; null stops it.
  void profile_into(Profile* profile) { profile_ = profile; }

  /// From here on so many steps in all, at these rates. Throws Error for fewer than are done.
  void replan(int64_t steps, Rate schedule);

  TrainerState state() const;  ///< tensors share storage with the optimizer's
  /// Throws RunError, naming one, if a parameter or what the optimizer keeps of one is not finite: a state
  /// that cannot go on.
  void check_finite() const;
  /// Throws Error, having changed nothing, for the state of another model or optimizer.
  void restore(const TrainerState& state);

  nn::Module& model() const { return model_; }  ///< the borrowed one
  /// The means of its parameters; null unless the recipe has an ema.
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  const Recipe& recipe() const { return recipe_; }  ///< as it was given, with defaults filled in

 private:
  double accumulate_gradients();
  data::Batch next_batch();
  double norm_of_gradients();
  void update(double lr, double scale);

  nn::Module& model_;
  Recipe recipe_;
  std::vector<Tensor> parameters_;
  std::optional<WeightAverage> average_;
  Generator data_, dropout_;
  int64_t step_ = 0;
  int64_t tokens_ = 0;  // of the step under way
  Profile* profile_ = nullptr;
};

}  // namespace gradus::train

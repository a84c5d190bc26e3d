// Trainer: makes the optimizer steps of a recipe. It does not evaluate, save or print (see run.hpp), except
// for one warning. Borrows the model, which must outlive it; construct it after Module::to(), which replaces
// parameters. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"
#include "gradus/train/optimizers/weight_average.hpp"
#include "gradus/train/trainer/communicator.hpp"
#include "gradus/train/trainer/metrics.hpp"
#include "gradus/train/trainer/recipe.hpp"

namespace gradus::train {

/// A loss or a gradient that is not finite: all ranks find it in the same step.
struct NotFinite : RunError {
  using RunError::RunError;
};

/// The state from which a trainer, with its parameters, continues with the same bits.
struct TrainerState {
  nn::StateDict optimizer;                  ///< state_dict() of the optimizer and of the WeightAverage
  int64_t step = 0;                         ///< steps done
  std::string data_stream, dropout_stream;  ///< Generator::state() of both
};

class GradientExchange;

class Trainer {
 public:
  /// Throws Error if the recipe is not valid. Warns on std::cerr of parameters that require no gradient,
  /// unless requires_grad_(false) was called on them.
  /// With `ranks`, which are borrowed, all of them make a trainer of the same model and recipe: rank 0 calls
  /// the functions below, the others follow().
  Trainer(nn::Module& model, Recipe recipe, Communicator* ranks = nullptr);
  /// Lets the other ranks return from follow().
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// On ranks other than 0: does what rank 0 does, until its trainer is destroyed. `validation` are the
  /// batches that rank 0 passes to validation_loss(). An error ends all ranks. Throws Error on rank 0.
  void follow(const std::vector<data::Batch>& validation);
  /// Whether this is rank 0, or the only process.
  bool leads() const { return rank() == 0; }

  /// One update from accum micro-batches, whose mean gradient is that of one batch of accum * batch examples.
  /// Throws NotFinite if the loss or the gradient is not finite, and passes on exceptions of the recipe's
  /// `batches`. The parameters are then unchanged; if `batches` threw, so are the random streams. If `layers`
  /// is given, also fills it; the update is the same, bit for bit.
  StepReport step(LayerReport* layers = nullptr);
  /// Measures part_examples and part_grad_norm before a step: calls the recipe's batches and loss for a part
  /// of its batch, with copies of the random streams. Nothing for a batch of one example.
  void measure_part(LayerReport& layers) const;
  int64_t steps_done() const { return step_; }  ///< including those before a restore()
  /// Records the ops of the next steps, and batch, clip and update, in this profile, which is borrowed; null
  /// stops it. The other ranks then record their own.
  void profile_into(Profile* profile);
  /// Ends what profile_into() began. Returns the JSON events of all ranks (see trace.hpp).
  std::string take_trace();

  /// Changes the number of steps of the run, but not below the steps done. Returns whether it changed.
  bool set_steps(int64_t steps);

  /// Tensors share storage with the optimizer's.
  TrainerState state();
  /// mean_loss() of the model on the batches, which the ranks share, in the recipe's precision. Call it
  /// during the lifetime of an AveragedWeights of average(). Throws Error if there are no batches.
  double validation_loss(const std::vector<data::Batch>& batches);
  /// Throws RunError, naming one, if a value of the parameters or of the optimizer is not finite.
  void check_finite() const;
  /// Throws Error, having changed nothing, for the state of another model or optimizer.
  void restore(const TrainerState& state);

  nn::Module& model() const { return model_; }  ///< as borrowed
  /// The average of the parameters; null unless the recipe has an ema.
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  const Recipe& recipe() const { return recipe_; }  ///< with defaults filled in

 private:
  enum class Order : int { step, evaluate, gather, profile, take_trace, end };
  void lead(Order order, double number = 0) const;
  void obey(Order order, double number, const std::vector<data::Batch>& validation);
  StepReport make_step(double lr, LayerReport* layers = nullptr);
  /// Sets all but the part's gradient and elapsed, after an update of these parameters.
  void measure_update(const std::vector<Tensor>& before, LayerReport& layers) const;
  /// Sets loss and tokens.
  void compute_gradients(StepReport& report);
  /// The batches of a micro-batch of the next step. If one throws, the streams are as before.
  std::vector<data::Batch> draw(int64_t micro_batch);
  /// Adds their gradients for a step of `targets` targets. Returns their part of its loss.
  double backward(int64_t micro_batch, const std::vector<data::Batch>& batches, double targets);
  /// The random stream of a micro-batch of the next step, for data or dropout, if there are several.
  Generator stream(std::string_view purpose, int64_t micro_batch) const;
  void record(Profile* profile);
  double evaluate(const std::vector<data::Batch>& batches);
  int rank() const { return ranks_ ? ranks_->rank() : 0; }

  nn::Module& model_;
  Recipe recipe_;
  std::vector<Tensor> parameters_;
  std::optional<WeightAverage> average_;
  Generator data_, dropout_;
  int64_t step_ = 0;
  Profile* profile_ = nullptr;
  Communicator* ranks_;
  std::unique_ptr<GradientExchange> exchange_;
  std::unique_ptr<Profile> own_profile_;  // of ranks other than 0
  std::vector<Communication> messages_;   // since the last profile_into()
};

/// Mean loss over all targets of all batches, without dropout and without recording. The mode of the model
/// and of its modules stays. `ranks`, which may be null, share the batches, which all of them have. Throws
/// Error if there are no batches.
double mean_loss(nn::Module& model, const Loss& loss, const std::vector<data::Batch>& batches,
                 Communicator* ranks = nullptr);

}  // namespace gradus::train

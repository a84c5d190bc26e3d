// Trainer: a model, an optimizer, a schedule and the streams of random numbers; one call is one step.
//
// It knows nothing of files or screens (see run.hpp). The model is borrowed and must outlive it. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/autograd/profile.hpp"
#include "gradus/autograd/random.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/models/gpt.hpp"
#include "gradus/train/adamw.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::train {

/// Draws the next `batch` sequences from the generator it is handed, and from nothing else.
using BatchSource = std::function<data::Batch(int64_t batch, Generator& generator)>;

struct StepReport {
  int64_t step = 0;  ///< steps done, this one included
  double loss = 0;   ///< mean over the step's tokens before the update, nats
  double lr = 0;
  double grad_norm = 0;  ///< before clipping
  double seconds = 0;
  int64_t tokens = 0;
  double elapsed =
      0;  ///< seconds of running since the first step, those before a resume too; run() fills it in
};

/// What a trainer needs, beside parameters, to go on as if it had never stopped.
struct TrainerState {
  nn::StateDict optimizer;
  int64_t step = 0;
  std::string data_stream, dropout_stream;
};

class Trainer {
 public:
  /// Throws Error if the config is not valid.
  Trainer(models::GPT& model, BatchSource source, const TrainConfig& config);

  /// One update from accum micro-batches, whose mean gradient is that of one batch of accum * batch
  /// sequences. Throws RunError, with the parameters as they were, if the loss or the gradient is not finite.
  StepReport step();
  int64_t steps_done() const { return step_; }
  /// From the next step on, the steps' ops, and batch, clip and update, go to this profile, which is
  /// borrowed; null stops it.
  void profile_into(Profile* profile) { profile_ = profile; }

  TrainerState state() const;
  /// Throws RunError, naming one, if a parameter or what the optimizer keeps of one is not finite: a state
  /// that cannot go on.
  void check_finite() const;
  /// Throws Error for the state of another model.
  void restore(const TrainerState& state);

  models::GPT& model() const { return model_; }
  const TrainConfig& config() const { return config_; }

 private:
  double accumulate_gradients();
  data::Batch next_batch();
  double norm_of_gradients();
  void update(double lr, double scale);

  models::GPT& model_;
  BatchSource source_;
  TrainConfig config_;
  Schedule schedule_;
  std::vector<Tensor> parameters_;
  AdamW optimizer_;
  Generator data_, dropout_;
  int64_t step_ = 0;
  int64_t tokens_ = 0;  // of the step under way
  Profile* profile_ = nullptr;
};

}  // namespace gradus::train

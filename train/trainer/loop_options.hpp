// LoopOptions: the settings of a training loop. A Recipe has them as a member, and the decoder's TrainConfig
// inherits them. A plain value.
#pragma once

#include <cstdint>

#include "gradus/autograd/tensor/dtype.hpp"

namespace gradus::train {

struct LoopOptions {
  int64_t steps = 2000;  ///< optimizer steps, including those before a resume
  int64_t batch = 12;    ///< examples in a micro-batch; for the decoder, windows of block_size tokens
  int64_t accum = 1;     ///< micro-batches per step
  /// Micro-batches of a step whose gradients are summed by a binary tree over their numbers. Above 1, accum *
  /// batch must be a multiple of micro, and batches and dropout are drawn from (seed, step, number).
  int64_t micro = 1;
  double clip = 1.0;    ///< largest norm of the gradient; 0 does not clip
  int64_t seed = 1337;  ///< of batches, dropout and the decoder's initial values
  /// Decay of the exponential moving average of the parameters, see WeightAverage. Evaluations and the best
  /// model use the average; 0: they use the parameters.
  double ema = 0.0;
  DType precision = DType::float32;  ///< of matrix products: float32 or bfloat16, see Autocast

  /// The precision of the gradients and updates that ranks exchange: float32 or bfloat16. With bfloat16,
  /// results depend on the number of ranks: see gradient_exchange_on_ranks.cpp.
  DType wire = DType::float32;

  // Evaluations and saves do not change the training.
  int64_t eval_every = 500;  ///< steps between evaluations
  int64_t patience = 0;      ///< the run ends after this many evaluations without a new lowest loss; 0: never
  int64_t save_every = 500;  ///< steps between saves
  int64_t keep = 0;          ///< number of the newest saved states that stay in the folder kept/

  /// Throws Error with the first wrong field, the values that it may have, and its value.
  void validate() const;
};

}  // namespace gradus::train

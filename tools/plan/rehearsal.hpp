// Rehearsal: measures on this machine what a machine computes in a step of several, without messages.
#pragma once

#include "gradus/tools/plan/step_model.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::plan {

/// How the windows of a step are split.
struct Split {
  int64_t micro = 1;    ///< micro-batches of the step
  int64_t windows = 1;  ///< of a pass, forward and backward
  int64_t passes = 1;   ///< of the machine that has the most
};

/// The work of a step of `config`, split so, on `machines` machines. Times are medians over steps on random
/// tokens, about `seconds` of them.
Work rehearse(train::TrainConfig config, const Split& split, int64_t machines, double seconds);

}  // namespace gradus::plan

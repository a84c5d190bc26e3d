// Evaluation: a model's loss on batches, without a trace in the model or any generator. Thread-safety: as the
// model's.
#pragma once

#include <vector>

#include "gradus/nn/module.hpp"
#include "gradus/train/trainer/recipe.hpp"

namespace gradus::train {

/// Mean loss over all targets of all batches. Nothing is dropped or recorded, and the mode of the model, and
/// of each module in it, is afterwards what it was. Throws Error if there are no batches.
double mean_loss(nn::Module& model, const Loss& loss, const std::vector<data::Batch>& batches);

}  // namespace gradus::train

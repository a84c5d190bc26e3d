// Evaluation: a model's loss on batches, without a trace in the model or any generator. Thread-safety: as the
// model's.
#pragma once

#include <vector>

#include "gradus/data/dataset.hpp"
#include "gradus/models/gpt.hpp"

namespace gradus::train {

/// Windows in a batch for evaluation: a cost in memory, not in meaning, so it does not depend on the batch
/// trained on.
int64_t evaluation_batch(const models::GPTConfig& config);

/// Mean cross-entropy over all targets of all batches, nats a token. Nothing is dropped or recorded, and the
/// mode of each part of the model is afterwards what it was. Throws Error if there are no batches.
double mean_loss(models::GPT& model, const std::vector<data::Batch>& batches);

}  // namespace gradus::train

// Memory: does a model fit into this machine? Asked before anything is allocated. Thread-safe: no state.
#pragma once

#include "gradus/models/decoder_config.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::train {

/// Bytes that this process may still take without swapping: what the system says is available, or less where
/// a control group limits it. 0 if nothing is known.
double available_memory();

/// The peak memory of the training steps of `config`, in bytes, right to a tenth.
models::MemoryEstimate training_memory(const TrainConfig& config);

/// Throws Error with both figures if `need` is more than there is; `hint` says what to do.
void check_memory(const models::MemoryEstimate& need, const char* hint);

}  // namespace gradus::train

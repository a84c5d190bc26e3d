// Memory: whether a model fits into this machine, before it is allocated. Thread-safe: no state.
#pragma once

#include "gradus/models/decoder_config.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::train {

/// Bytes that this process can allocate without swapping: the system's available memory, or less if its
/// control groups (cgroup version 2) limit it. 0 if unknown.
double available_memory();

/// The peak memory of the training steps of `config`, in bytes, to within a tenth.
models::MemoryEstimate training_memory(const TrainConfig& config);

/// Throws Error with both figures and the hint if `need` is more than the available memory.
void check_memory(const models::MemoryEstimate& need, const char* hint);

}  // namespace gradus::train

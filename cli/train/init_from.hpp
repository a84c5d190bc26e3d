// --init-from: a run that starts with an existing model and trains it on another text. Thread-safe: no state.
#pragma once

#include <functional>
#include <string_view>

#include "gradus/models/decoder.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {

/// Gives the config the shape and the tokenizer of the model in config.init_from, and rates for fine-tuning,
/// except for flags for which `is_given(flag)` is true. Throws Error, naming the flag, if the model cannot
/// have its value, or if the folder cannot be read.
void begin_with_model(train::TrainConfig& config, const std::function<bool(std::string_view)>& is_given);

/// The model in config.init_from, without padding. Its context is its own, or config's block if that is
/// longer. Throws Error, naming the file, if it cannot be read.
models::Decoder initial_model(const train::TrainConfig& config);

}  // namespace gradus::cli

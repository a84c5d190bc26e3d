// --init-from: a run that begins with a model that is there, to go on learning from another text.
// Thread-safe: no state.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "gradus/models/decoder.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {

/// Gives the config the shape and the tokenizer of the model in config.init_from, and rates that suit
/// fine-tuning, wherever `is_given(flag)` says that nobody asked for another. Throws Error, naming the flag,
/// for what the model cannot have, and if the folder cannot be read.
void begin_with_model(train::TrainConfig& config, const std::function<bool(std::string_view)>& is_given);

/// Throws Error if the folder of the run is that of the model in config.init_from, or around it, which
/// --overwrite would empty.
void check_apart(const train::TrainConfig& config, const std::filesystem::path& out);

/// The model in config.init_from, without padding and cut to config's block. Throws Error, naming the file,
/// if it cannot be read.
models::Decoder initial_model(const train::TrainConfig& config);

}  // namespace gradus::cli

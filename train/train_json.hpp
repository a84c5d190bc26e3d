// train.json: the settings of a run as JSON. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>

#include "gradus/train/train_config.hpp"

namespace gradus::train {

/// The text of train.json for the decoder.
std::string to_json(const TrainConfig& config);
/// Reads such a text. Throws Error, naming `file` and the key, for a missing, unknown or mistyped key.
TrainConfig train_config_from_json(std::string_view text, const std::string& file = "train.json");

/// The text of train.json of a model that is not the decoder: the settings of the loop.
std::string to_json(const LoopOptions& options);
/// Reads the text of to_json(). Throws Error with `file` and the key for a missing or unknown key, or a value
/// of the wrong type.
LoopOptions loop_options_from_json(std::string_view text, const std::string& file);
/// Whether to_json(LoopOptions) wrote this train.json. Throws Error if it is not JSON.
bool is_loop_options(std::string_view json, const std::string& file);

/// Throws Error, naming `file`, for a run of gradus 0.3 with local steps or another order of sums.
void check_resumable(std::string_view text, const std::string& file);
/// Throws Error with the first setting that `options` changes but a resumed run must not.
void check_resume(const LoopOptions& options, const LoopOptions& saved);

}  // namespace gradus::train

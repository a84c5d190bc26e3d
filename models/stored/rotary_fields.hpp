// The fields of config.json that decoders with rotary attention have. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "gradus/models/stored/config_fields.hpp"

namespace gradus::models {

inline constexpr int64_t kUsualWindow = 4096;  ///< sliding_window where it is missing, as in transformers

/// The fields of config.json that Llama and Gemma 3 have, as JSON.
std::string rotary_fields(const DecoderConfig& config, std::string_view model_type);
/// Reads them. `to` has the defaults; if `needs_kv_heads`, num_key_value_heads must be there. `kind`: the
/// key in rope_parameters, which has an object for each kind of layer; null: it has one for all.
void read_rotary(ConfigReader& root, bool needs_kv_heads, const char* kind, DecoderConfig& to);

}  // namespace gradus::models

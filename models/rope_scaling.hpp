// RopeScaling in config.json, and the frequencies that it makes. Stateless.
#pragma once

#include <string>

#include "gradus/files/json.hpp"
#include "gradus/models/decoder_config.hpp"

namespace gradus::models {

/// The rotary frequencies of a config, float64 (hs / 2): linear divides them by the factor (Chen et al.,
/// arXiv 2306.15595), llama3 the low ones (Llama 3.1's model card), yarn those of long waves (Peng et al.,
/// arXiv 2309.00071, section 3.2).
Tensor scaled_frequencies(const DecoderConfig& config);

/// Reads rope_theta and the scaling from rope_scaling or rope_parameters. Throws Error, naming the field, for
/// another type. If rope_parameters has an object for each kind of layer, it reads that of `kind`.
void read_rope(const files::Field& root, DecoderConfig& to, const char* kind = nullptr);
/// The value of rope_scaling as JSON; null without scaling.
std::string rope_scaling_json(const RopeScaling& scaling);
/// Throws Error if the scaling is not valid.
void check_rope(const RopeScaling& scaling);

}  // namespace gradus::models

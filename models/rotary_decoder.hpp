// The decoder of Llama and Gemma, in llama.cpp, what their entries share, and RopeScaling in config.json, in
// rope_scaling.cpp. Private to models and tools. Stateless.
#pragma once

#include <memory>
#include <string>

#include "gradus/files/json.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/decoder_config.hpp"
#include "gradus/nn/attention.hpp"

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

/// The options of a block's attention.
using AttentionOfBlock = nn::GroupedQueryAttentionOptions(const DecoderConfig& config, int64_t block);
std::unique_ptr<Backbone> make_rotary(const DecoderConfig& config, Generator& init,
                                      AttentionOfBlock* attention);
/// Throws Error unless layers without biases can have the heads, angles and windows of the config.
void check_rotary(const DecoderConfig& config);
/// A value of Architecture::cost.
DecoderCost rotary_cost(const DecoderConfig& config, DType products);
/// The fields of config.json that both have, as JSON.
std::string rotary_fields(const DecoderConfig& config, std::string_view model_type);
/// Reads them; the caller validates the config. `head_dim` is the default; 0: n_embd / n_head. `kind`: see
/// read_rope().
void read_rotary(const files::Field& root, const std::string& file, int64_t head_dim, const char* kind,
                 DecoderConfig& to);

}  // namespace gradus::models

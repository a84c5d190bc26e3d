// The decoder of Llama and Gemma, in llama.cpp, and what their entries share. Private to models. Stateless.
#pragma once

#include <memory>
#include <string>

#include "gradus/files/json.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/nn/attention.hpp"

namespace gradus::models {

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

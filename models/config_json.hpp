// config.json: a GPTConfig as Hugging Face's transformers writes and reads it, for GPT-2, Llama and Qwen3
// (which is Llama with norms of queries and keys). Read are also the book's (GPT_CONFIG_124M of Build a Large
// Language Model) and nanoGPT's (model_args), which have no model_type. Stateless.
#pragma once

#include <string>
#include <string_view>

#include "gradus/models/gpt_config.hpp"

namespace gradus::models {

/// The text of config.json. The config must be valid.
std::string to_json(const GPTConfig& config);

/// What the text of a config.json says. Fields that have no part in the computation are passed over. Throws
/// Error, naming `file` and the field, if it is malformed or describes a model that GPT is not.
GPTConfig config_from_json(std::string_view json, const std::string& file);

}  // namespace gradus::models

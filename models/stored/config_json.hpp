// config.json: a DecoderConfig in the format of Hugging Face's transformers. Private to models. Stateless.
#pragma once

#include <string>
#include <string_view>

#include "gradus/models/decoder_config.hpp"

namespace gradus::models {

inline constexpr const char* kConfig = "config.json";                               ///< its name
inline constexpr const char *kEnsemble = "gradus_ensemble", *kMembers = "members";  ///< of an ensemble's

/// The text of config.json. The config must be valid.
std::string to_json(const DecoderConfig& config);

/// The config of the text of a config.json. Throws Error, naming `file` and the field, if it is malformed, no
/// architecture supports it, or a field that is set is neither read nor known to change no result.
DecoderConfig config_from_json(std::string_view json, const std::string& file);

}  // namespace gradus::models

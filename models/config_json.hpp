// config.json: a DecoderConfig as Hugging Face's transformers writes and reads it, for each architecture.
// Private to models. Stateless.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "gradus/files/json.hpp"
#include "gradus/models/decoder_config.hpp"

namespace gradus::models {

/// The text of config.json. The config must be valid.
std::string to_json(const DecoderConfig& config);

/// The config that the text of a config.json describes. Ignores fields that have no part in the computation.
/// Throws Error, naming `file` and the field, if it is malformed or describes a model that no architecture
/// is.
DecoderConfig config_from_json(std::string_view json, const std::string& file);

// For the rows of architectures.

/// The text of `fields`, a JSON object, with the fields that every config has and, unless it is null, one
/// more that is false.
std::string config_text(const std::string& fields, const char* false_field = nullptr);

double number(const files::Field& config, const char* key, double otherwise);
bool flag(const files::Field& config, const char* key, bool otherwise);

/// Refuses a config that says anything but one of `accepted`, each as errors show it; saying nothing means
/// the first of them.
void expect(const files::Field& config, const char* key, std::initializer_list<std::string_view> accepted);

/// Throws Error with the name of the file unless the config is valid.
void validate(const DecoderConfig& config, const std::string& file);

}  // namespace gradus::models

// config.json: a DecoderConfig in the format of Hugging Face's transformers. Private to models. Stateless.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "gradus/files/json.hpp"
#include "gradus/models/decoder_config.hpp"

namespace gradus::models {

inline constexpr const char* kConfig = "config.json";                               ///< its name
inline constexpr const char *kEnsemble = "gradus_ensemble", *kMembers = "members";  ///< of an ensemble's

/// The text of config.json. The config must be valid.
std::string to_json(const DecoderConfig& config);

/// The config of the text of a config.json. Ignores fields that do not affect the computation. Throws Error,
/// naming `file` and the field, if it is malformed or no architecture supports it.
DecoderConfig config_from_json(std::string_view json, const std::string& file);

// For the files of the architectures:

/// The text of `fields`, a JSON object, with the fields of every config and, unless it is null, one more that
/// is false.
std::string config_text(const std::string& fields, const char* false_field = nullptr);

double number(const files::Field& config, const char* key, double otherwise);
bool flag(const files::Field& config, const char* key, bool otherwise);

/// The keys of sizes in a config.
struct SizeKeys {
  const char *block_size, *n_embd, *n_layer;
  const char* n_head = nullptr;  ///< null: n_head is not read
};
/// Reads vocab_size and the sizes with these keys.
void read_sizes(const files::Field& config, const SizeKeys& keys, DecoderConfig& to);

/// Throws Error unless the field has one of the accepted values, as errors show them, or is missing.
void expect(const files::Field& config, const char* key, std::initializer_list<std::string_view> accepted);

/// Throws Error with the name of the file unless the config is valid.
void validate(const DecoderConfig& config, const std::string& file);

}  // namespace gradus::models

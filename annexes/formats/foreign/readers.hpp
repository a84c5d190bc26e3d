// The readers of this folder, for the tables of files/foreign_formats.hpp. Stateless.
#pragma once

#include "gradus/files/foreign_formats.hpp"

namespace gradus::foreign {

std::unique_ptr<nn::TensorFile> open_checkpoint(const std::filesystem::path& path, std::string_view begin);
data::Tokenizer tokenizer_json(std::string_view json, const std::string& file);
data::Tokenizer tokenizer_pickle(std::string_view bytes, const std::string& file);
models::DecoderConfig read_config(models::ConfigReader& root);
std::optional<std::string> config_of(const nn::TensorFolder& tensors,
                                     const std::map<std::string, Shape>& given);
models::StoredLayout layout(const models::DecoderConfig& config, const std::map<std::string, Shape>& given);

}  // namespace gradus::foreign

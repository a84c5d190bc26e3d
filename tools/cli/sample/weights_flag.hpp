// --weights: in what numbers a model's matrices are kept while it writes or is evaluated.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "gradus/models/decoder.hpp"

namespace gradus::cli {

/// Adds the flag to `verb`.
void add_weights_flag(CLI::App& verb, std::string& weights);

/// Throws Error, naming `verb`, unless it is float32, bfloat16, int8 or int4.
void check_weights(std::string_view verb, const std::string& weights);

/// Rounds the model's matrices to such numbers.
void keep_weights(models::Decoder& model, const std::string& weights);

}  // namespace gradus::cli

// Reads from a tokenizer.json what happens to a text around the merging of pairs. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/data/pairs/rules.hpp"
#include "gradus/files/json.hpp"

namespace gradus::foreign {

/// Whether the symbols of the model are characters without a way to others: no ByteLevel, no byte_fallback.
bool is_of_characters_only(const files::Field& root);

/// The rules of normalizer, pre_tokenizer, decoder and model. Throws Error, naming the place, for a step that
/// is not supported, and for a pattern that is no regular expression.
data::pairs::Rules read_rules(const files::Field& root);

/// The tokens that post_processor puts before and after a text.
struct Template {
  std::vector<int32_t> prefix, suffix;
};

/// Throws Error, naming it, for steps but ByteLevel and TemplateProcessing, and tokens outside [0, tokens).
Template read_template(const files::Field& root, int64_t tokens);

}  // namespace gradus::foreign

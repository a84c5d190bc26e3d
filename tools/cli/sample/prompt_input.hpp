// Prompts that come in, from the command line, the standard input or a terminal.
#pragma once

#include <string>

#include "gradus/data/tokenizer.hpp"

namespace gradus::cli {

/// The prompt that --prompt says, or the standard input where it says -, which is taken without the line end
/// that a shell adds. Throws Error if the tokenizer cannot encode it.
std::string read_prompt(const std::string& flag, const data::Tokenizer& tokenizer);

/// A prompt as a text for that tokenizer. Throws Error, calling it `name`, as data::make_text().
std::string clean_prompt(const std::string& name, std::string bytes, const data::Tokenizer& tokenizer);

}  // namespace gradus::cli

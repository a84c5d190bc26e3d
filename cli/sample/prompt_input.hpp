// Prompts from the command line, the standard input or a terminal.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "gradus/data/tokenizer.hpp"

namespace gradus::cli {

/// The prompt of --prompt; for `-`, the standard input without the line end (LF or CR LF) that a shell adds.
/// Throws Error if the tokenizer cannot encode it.
std::string read_prompt(const std::string& flag, const data::Tokenizer& tokenizer);

/// The next line of the standard input, without its line end (LF or CR LF); none at the end. Throws Error as
/// read_prompt().
std::optional<std::string> read_prompt_line(const data::Tokenizer& tokenizer);

/// Writes the prompt and its continuation, and stops after a token if `interrupted` returns true.
using WriteText = std::function<void(const std::string& prompt, const std::function<bool()>& interrupted)>;

/// Prints `greeting`, then asks for a prompt at the terminal and calls `write`, until Ctrl-D. Ctrl-C stops a
/// text, or starts the line again. Reports a prompt that the tokenizer cannot encode and asks again. Handles
/// SIGINT meanwhile; at most one call at a time.
void sample_session(const data::Tokenizer& tokenizer, const std::string& greeting, const WriteText& write);

}  // namespace gradus::cli

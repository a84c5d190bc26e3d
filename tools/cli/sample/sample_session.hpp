// Texts for one prompt after another, as somebody types them.
#pragma once

#include <functional>
#include <string>

#include "gradus/data/tokenizer.hpp"

namespace gradus::cli {

/// Writes what goes on from `prompt`, asking after each token whether somebody has had enough.
using WriteText = std::function<void(const std::string& prompt, const std::function<bool()>& interrupted)>;

/// Asks at the terminal for a prompt and calls `write`, until Ctrl-D. Ctrl-C stops a text, or begins a line
/// again. What the tokenizer cannot encode is told and asked for again. Takes over SIGINT meanwhile; at most
/// one at a time.
void sample_session(const data::Tokenizer& tokenizer, const WriteText& write);

}  // namespace gradus::cli

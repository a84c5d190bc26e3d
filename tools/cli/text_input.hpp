// Texts that come in: of a run, from files or a corpus, and prompts.
#pragma once

#include "gradus/data/corpus.hpp"
#include "gradus/data/text.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {

/// What the config names: its files, read by `rules`, else its corpus, else the default one. Throws Error if
/// it cannot be had.
data::Corpus load_text(const train::TrainConfig& config, const data::TextRules& rules);

/// The prompt that --prompt says, or the standard input where it says -, which is taken without the line end
/// that a shell adds. Throws Error if the tokenizer cannot encode it.
std::string read_prompt(const std::string& flag, const data::Tokenizer& tokenizer);

/// A prompt as a text for that tokenizer. Throws Error, calling it `name`, as data::make_text().
std::string clean_prompt(const std::string& name, std::string bytes, const data::Tokenizer& tokenizer);

}  // namespace gradus::cli

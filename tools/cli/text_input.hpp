// The text of a run, from files or a corpus.
#pragma once

#include "gradus/data/corpus.hpp"
#include "gradus/data/text.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {

/// What the config names: its files, read by `rules`, else its corpus, else the default one. Throws Error if
/// it cannot be had.
data::Corpus load_text(const train::TrainConfig& config, const data::TextRules& rules);

}  // namespace gradus::cli

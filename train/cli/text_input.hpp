// The text of a run, from files or a corpus.
#pragma once

#include "gradus/data/corpus.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {

/// What the config names: its files, else its corpus, else the default one. Throws Error if it cannot be had.
data::Corpus load_text(const train::TrainConfig& config);

}  // namespace gradus::cli

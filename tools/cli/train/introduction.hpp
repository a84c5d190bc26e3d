// What `train` says before it begins: text, split, model, memory. Thread-safe: no state.
#pragma once

#include <string>

#include "gradus/data/corpus.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {

/// Lines for people, without the last line's end. The config is that of the run, with its number of steps.
std::string introduction(const train::TrainConfig& config, const data::Corpus& corpus,
                         const data::Tokenizer& tokenizer, const data::TextDataset& dataset);

}  // namespace gradus::cli

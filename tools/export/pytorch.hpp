// A trained decoder as a folder for PyTorch: Hugging Face's files, a page of Python that is the model
// (pytorch/), and what gradus computed with it, for check.py to compare.
//
//   model.py, tokenizer.py, sample.py, check.py   need PyTorch 1.13 and nothing else
//   model.safetensors, config.json                as a run folder has them
//   vocab.json, merges.txt, tokenizer.json,
//   tokenizer_config.json                         likewise
//   check.safetensors, check.json                 tokens with their logits, a text with its tokens
//
// Thread-safe: no state.
#pragma once

#include <filesystem>

#include "gradus/train/decoder.hpp"

namespace gradus::exports {

/// Writes the files into a folder that is there. Throws RunError if the disk refuses.
void write_pytorch(const train::TrainedModel& trained, const std::filesystem::path& folder);

}  // namespace gradus::exports

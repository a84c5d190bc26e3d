// GPT-2s in the files of other programs. Private to models. Thread-safe: no state.
//
//   Hugging Face    our names, with or without the prefix transformer.; the four matrices of a block are
//                   stored (in, out). This is the ordinary layout.
//   nanoGPT         the same names, matrices (out, in); karpathy/nanoGPT
//   the book        Raschka, Build a Large Language Model (From Scratch), chapter 4: tok_emb, trf_blocks,
//   ...;
//                   matrices (out, in), with separate ones for queries, keys and values
#pragma once

#include <optional>

#include "gradus/files/json.hpp"
#include "gradus/models/stored_layout.hpp"

namespace gradus::models {

/// The book's GPT_CONFIG_124M, or nanoGPT's model_args; none if the config is another.
std::optional<DecoderConfig> foreign_gpt2_config(const files::Field& root, const std::string& file);

/// The layout of nanoGPT or the book; none if `given` has another.
std::optional<StoredLayout> foreign_gpt2_layout(const DecoderConfig& config, const StoredShapes& given);

}  // namespace gradus::models

// StoredParameter: under which name, in which shape a file keeps a parameter of GPT. The same decoder has
// other names and turned or cut matrices elsewhere; this is the one list of them.
//
//   Hugging Face    the names of GPT, with or without the prefix transformer.; GPT-2's four matrices of a
//                   block are stored (in, out)
//   nanoGPT         the same names, matrices (out, in); karpathy/nanoGPT
//   the book        Raschka, Build a Large Language Model (From Scratch), chapter 4: tok_emb, trf_blocks,
//   ...;
//                   matrices (out, in), those of queries, keys and values each by itself
//
// Thread-safe: no state.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/models/gpt_config.hpp"

namespace gradus::models {

/// A tensor of a file, and the parameter of which it is all or some rows.
struct StoredParameter {
  std::string name;        ///< in the file, as plain_name() gives it
  Shape shape;             ///< in the file
  std::string parameter;   ///< of GPT
  bool turned = false;     ///< stored (in, out), where the parameter is (out, in)
  int64_t first_row = 0;   ///< of the parameter's rows
  bool is_vocab = false;   ///< a row a token
  bool is_places = false;  ///< a row a position
};

/// Shapes of a file's tensors by plain_name().
using StoredShapes = std::map<std::string, Shape>;

/// The name of a tensor without the prefixes that say nothing: that of GPT2LMHeadModel, transformer, and that
/// of compiled modules, _orig_mod.
std::string plain_name(std::string_view name);

/// Whether a file holds this beside parameters: causal masks, under names that look like a bias, and rotary
/// frequencies.
bool is_buffer(std::string_view plain_name);

/// What a file must hold that has a model of this config, in the layout that the names and shapes of `given`
/// show.
std::vector<StoredParameter> stored_parameters(const GPTConfig& config, const StoredShapes& given);

/// Whether transformers' Conv1D keeps the matrix of this name (in, out).
bool is_stored_turned(std::string_view name, const Shape& shape);

/// The head's name in a file, beside its table of tokens.
struct HeadNames {
  std::string head;   ///< of the output projection
  std::string table;  ///< of the token embedding
};
HeadNames head_names(const GPTConfig& config, const StoredShapes& given);  ///< in the layout of `given`

}  // namespace gradus::models

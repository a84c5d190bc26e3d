// Small trained decoders for the tests of what is written of them.
#pragma once

#include <string>
#include <vector>

#include "data/small_vocabulary.hpp"
#include "gradus/train/decoder.hpp"
#include "models/llama.hpp"

namespace gradus::testing {

inline constexpr const char* kSmallMerges = "a b\nab c\n\xC4\xA0 a\n";

/// Characters that take one to four bytes, and such as have to be escaped somewhere.
inline data::Tokenizer awkward_characters() { return data::Tokenizer::characters("\n\t \"\\<'aé“語😀\x7F"); }

inline data::Tokenizer small_pairs() { return data::small_tokenizer(kSmallMerges, {"<|endoftext|>"}); }

/// The config of a small decoder for that tokenizer: GPT-2's shape.
inline models::DecoderConfig small_gpt2(const data::Tokenizer& tokenizer) {
  return {.vocab_size = tokenizer.vocab_size(), .block_size = 40, .n_layer = 2, .n_head = 2, .n_embd = 32};
}

inline train::TrainedModel exported(models::DecoderConfig config, const data::Tokenizer& tokenizer) {
  config.vocab_size = tokenizer.vocab_size();
  return {wide_model(config, 3), tokenizer};
}

}  // namespace gradus::testing

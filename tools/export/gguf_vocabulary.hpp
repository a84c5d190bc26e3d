// A tokenizer as GGUF's keys have it, so that llama.cpp gives the same tokens.
//
//   bpe         `gpt2`, with merges: GPT-2's words and pairs. It ends at <|endoftext|>; a vocabulary without
//               special tokens ends at the byte 0xFF, which no UTF-8 has, for llama.cpp must have some token.
//   char, byte  `rwkv`, which takes the longest token that the text goes on with: of characters, and of
//               bytes, there is one at each place. (`gpt2` would end every text at its token 11.)
//
// Thread-safe: no state.
#pragma once

#include "gradus/data/tokenizer.hpp"
#include "gradus/tools/gguf/gguf.hpp"

namespace gradus::exports {

/// The keys that begin with tokenizer.
gguf::Keys vocabulary_keys(const data::Tokenizer& tokenizer);

}  // namespace gradus::exports

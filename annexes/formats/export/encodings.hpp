// Numbers and vocabularies in the formats of other programs. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradus/annexes/formats/gguf/gguf.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/data/tokenizer.hpp"

namespace gradus::exports {

/// The numbers of a contiguous float32 tensor. They live as long as it does.
inline std::span<const float> numbers_of(const Tensor& tensor) {
  return {tensor.data<float>(), static_cast<size_t>(tensor.numel())};
}

/// The nearest float16, ties to even, as its bits; numbers above 65504 become infinity.
uint16_t to_float16(float x);

/// The numbers unchanged, 4 bytes each.
std::string as_f32(std::span<const float> x);
/// The numbers as float16, 2 bytes each. Throws Error if one is not finite as a float16.
std::string as_f16(std::span<const float> x);
/// ggml's Q8_0: for every 32 numbers (x must consist of complete blocks), d = max |x| / 127 as a float16, and
/// round(x / d) as 32 bytes; ggml's quantize_row_q8_0 gives the same bytes. Throws Error as as_f16() does.
std::string as_q8_0(std::span<const float> x);

/// The lines of merges.txt of bpe, without the first one, which has the version.
std::vector<std::string> merge_lines(const data::Tokenizer& tokenizer);

/// GGUF's keys that begin with tokenizer, with which llama.cpp gives the same tokens.
///   bpe         `gpt2`, with merges and llama.cpp's name of the words. It ends at eos(); a vocabulary
///   without
///               special tokens ends at the byte 0xFF, which is in no UTF-8, because llama.cpp needs a token.
///               Pairs over characters: `llama`, with scores in the order of the merges.
///   char, byte  `rwkv`, which takes the longest token at each place; there is exactly one. (`gpt2` would end
///               every text at its token 11.)
/// Throws Error for words that llama.cpp has no name for.
gguf::Keys vocabulary_keys(const data::Tokenizer& tokenizer);

}  // namespace gradus::exports

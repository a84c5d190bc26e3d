// Numbers as GGUF has them: float16, and blocks of 8 bits. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::exports {

/// The numbers of a contiguous float32 tensor. They live as long as it does.
inline std::span<const float> numbers_of(const Tensor& tensor) {
  return {tensor.data<float>(), static_cast<size_t>(tensor.numel())};
}

/// The nearest float16, to even at half, as its bits; what is beyond 65504 becomes infinity.
uint16_t to_float16(float x);

/// Numbers as they are, 4 bytes each.
std::string as_f32(std::span<const float> x);
/// 2 bytes each. Throws Error if one is not finite as a float16.
std::string as_f16(std::span<const float> x);
/// ggml's Q8_0: for every 32 numbers, of which x must be whole blocks, d = max |x| / 127 as a float16, and
/// round(x / d) as 32 bytes; ggml's quantize_row_q8_0 gives the same bytes. Throws Error as as_f16() does.
std::string as_q8_0(std::span<const float> x);

}  // namespace gradus::exports

// What reader and writer of GGUF know of its types. Thread-safe: no state.
#pragma once

#include <cstdint>

#include "gradus/tools/gguf/gguf.hpp"

namespace gradus::gguf {

inline constexpr std::string_view kMagic = "GGUF";                 ///< what every file begins with
inline constexpr uint64_t kAlignment = 32;                         ///< bytes, where a file says nothing
inline constexpr const char* kAlignmentKey = "general.alignment";  ///< what says otherwise

/// Bytes of a value of that type; 0 for texts and lists, whose sizes differ.
uint64_t bytes_of(ValueType type);
/// The type of that number; null if ggml has none.
const TensorType* tensor_type(uint32_t number);

}  // namespace gradus::gguf

// The types of GGUF, for its reader and its writer. Thread-safe: no state.
#pragma once

#include <cstdint>

#include "gradus/annexes/formats/gguf/gguf.hpp"

namespace gradus::gguf {

inline constexpr std::string_view kMagic = "GGUF";                 ///< the first bytes of a file
inline constexpr uint64_t kAlignment = 32;                         ///< bytes, by default
inline constexpr const char* kAlignmentKey = "general.alignment";  ///< the key of another alignment

/// Calls f.operator()<T>() with the C++ type T of the values of that type.
template <class F, size_t kIndex = 0>
auto dispatch(ValueType type, const F& f) {
  if constexpr (kIndex + 1 < std::variant_size_v<Value>)
    if (static_cast<size_t>(type) != kIndex) return dispatch<F, kIndex + 1>(type, f);
  return f.template operator()<std::variant_alternative_t<kIndex, Value>>();
}

/// The type of that number; null if ggml has none.
const TensorType* tensor_type(uint32_t number);

}  // namespace gradus::gguf

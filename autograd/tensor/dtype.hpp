// DType: the type of a tensor's elements, chosen at run time; and the switch from a DType to a C++ type.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "gradus/autograd/tensor/quantized_types.hpp"
#include "gradus/files/error.hpp"

namespace gradus {

// A part of a list for each type in tiles.
#define GRADUS_DTYPE(dtype, Tile, word) dtype,
#define GRADUS_DTYPE_NAME(dtype, Tile, word) #dtype,
#define GRADUS_DTYPE_SIZE(dtype, Tile, word) sizeof(Tile),
#define GRADUS_DTYPE_OF(dtype, Tile, word) \
  if constexpr (std::is_same_v<T, Tile>) return DType::dtype;

/// bfloat16, q8_0 and the others after it are for weights that are only read: to() converts them, linear()
/// and embedding() take them as weights, all other ops refuse them. q8_0 and so on are GGUF's formats: few
/// bits, and a scale for every 32 numbers of a row; such a tensor is a whole matrix, stored in tiles.
enum class DType : uint8_t { float32, float64, int64, boolean, bfloat16, GRADUS_TILES(GRADUS_DTYPE) };

struct bfloat16;  // kernels/elementwise/elementwise.hpp

/// In the order of DType.
inline constexpr std::string_view kDTypeNames[] = {"float32", "float64",  "int64",
                                                   "bool",    "bfloat16", GRADUS_TILES(GRADUS_DTYPE_NAME)};
/// float32, float64, int64, bool, bfloat16, or a type in tiles.
constexpr std::string_view name(DType dtype) { return kDTypeNames[static_cast<int>(dtype)]; }

/// The place of a dtype among those whose tensors are stored in tiles; negative if it is none of them.
constexpr int tile_type(DType dtype) {
  return static_cast<int>(dtype) - static_cast<int>(DType::bfloat16) - 1;
}
inline constexpr size_t kTileTypes =
    std::size(kDTypeNames) - static_cast<size_t>(DType::bfloat16) - 1;  ///< how many there are

/// Whether tensors of this dtype are stored in tiles.
constexpr bool is_in_tiles(DType dtype) { return tile_type(dtype) >= 0; }

/// Bytes of an element, or of a tile.
constexpr int64_t element_size(DType dtype) {
  constexpr int64_t sizes[] = {4, 8, 8, 1, 2, GRADUS_TILES(GRADUS_DTYPE_SIZE)};
  return sizes[static_cast<int>(dtype)];
}

/// Whether gradients can flow: float32 and float64.
constexpr bool is_floating(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

/// Whether this dtype only stores weights, without arithmetic and gradients.
constexpr bool is_storage(DType dtype) { return dtype >= DType::bfloat16; }

/// Whether arithmetic accepts this dtype: floating dtypes and int64.
constexpr bool is_number(DType dtype) { return is_floating(dtype) || dtype == DType::int64; }

/// The DType whose elements are of the C++ type T.
template <class T>
inline constexpr DType dtype_of = [] {
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  if constexpr (std::is_same_v<T, int64_t>) return DType::int64;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, bfloat16>) return DType::bfloat16;
  GRADUS_TILES(GRADUS_DTYPE_OF)
}();

#undef GRADUS_DTYPE
#undef GRADUS_DTYPE_NAME
#undef GRADUS_DTYPE_SIZE
#undef GRADUS_DTYPE_OF

/// Calls f.operator()<T>() with T = float or double. Throws Error for other dtypes, naming `op`.
template <class F>
decltype(auto) dispatch_float(std::string_view op, DType dtype, F&& f) {
  if (dtype == DType::float32) return f.template operator()<float>();
  if (dtype == DType::float64) return f.template operator()<double>();
  fail(op, "needs float32 or float64 values, got ", name(dtype), ".");
}

/// The same for every numeric dtype (float, double, int64_t).
template <class F>
decltype(auto) dispatch_number(std::string_view op, DType dtype, F&& f) {
  if (dtype == DType::int64) return f.template operator()<int64_t>();
  if (dtype == DType::boolean) fail(op, "needs numbers, got bool.");
  return dispatch_float(op, dtype, std::forward<F>(f));
}

/// The same for all dtypes; throws Error for those that only store weights.
template <class F>
decltype(auto) dispatch_any(DType dtype, F&& f) {
  if (dtype == DType::boolean) return f.template operator()<bool>();
  if (is_storage(dtype))
    fail(name(dtype), "such values are only stored. Hint: convert them with to(DType::float32).");
  return dispatch_number("", dtype, std::forward<F>(f));
}

}  // namespace gradus

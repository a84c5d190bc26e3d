#include "gradus/tools/export/gguf_numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gradus/files/error.hpp"

namespace gradus::exports {
namespace {

constexpr size_t kBlock = 32;
constexpr uint16_t kInfinity = 0x7C00;

void add(std::string& bytes, uint16_t bits) {
  bytes += static_cast<char>(bits & 0xFF);
  bytes += static_cast<char>(bits >> 8);
}

uint16_t finite_float16(float x) {
  const uint16_t half = to_float16(x);
  if ((half & kInfinity) == kInfinity)
    fail("export", "weights must be at most 65504 for f16, and 127 times that for q8_0, got ", x,
         ". Hint: --type f32.");
  return half;
}

/// The largest magnitude; infinite or NaN if one is.
float largest_of(std::span<const float> x) {
  float largest = 0.0F;
  for (const float value : x) {
    if (!std::isfinite(value)) return value;
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

}  // namespace

uint16_t to_float16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const float magnitude = std::abs(x);
  if (std::isnan(x)) return sign | 0x7E00;
  if (magnitude >= 65520.0F) return sign | kInfinity;
  // Below 2^-14 float16 counts in units of 2^-24, and so does a float32 of 2^-1 or more: adding rounds.
  if (magnitude < 0x1p-14F)
    return static_cast<uint16_t>(sign |
                                 (std::bit_cast<uint32_t>(magnitude + 0.5F) - std::bit_cast<uint32_t>(0.5F)));
  const uint32_t absolute = bits & 0x7FFFFFFFU;
  const uint32_t rounded = absolute + 0xFFFU + (absolute >> 13 & 1U);  // half an ulp of float16, to even
  return static_cast<uint16_t>(sign | ((rounded >> 13) - ((127U - 15U) << 10)));
}

std::string as_f32(std::span<const float> x) {
  static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");
  return {reinterpret_cast<const char*>(x.data()), x.size_bytes()};
}

std::string as_f16(std::span<const float> x) {
  std::string bytes;
  bytes.reserve(2 * x.size());
  for (const float value : x) add(bytes, finite_float16(value));
  return bytes;
}

std::string as_q8_0(std::span<const float> x) {
  std::string bytes;
  bytes.reserve(x.size() / kBlock * (kBlock + 2));
  for (size_t begin = 0; begin < x.size(); begin += kBlock) {
    const std::span<const float> block = x.subspan(begin, kBlock);
    const float d = largest_of(block) / 127.0F, reciprocal = 1.0F / d;
    const float inverse = std::isfinite(reciprocal) ? reciprocal : 0.0F;  // of numbers too small for a scale
    add(bytes, finite_float16(d));
    for (const float value : block) bytes += static_cast<char>(static_cast<int>(std::round(value * inverse)));
  }
  return bytes;
}

}  // namespace gradus::exports

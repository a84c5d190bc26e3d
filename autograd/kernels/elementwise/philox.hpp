// Philox4x32-10, the counter-based random generator of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (2011): a block of four words is a function of a counter and a key, so any
// thread can draw any of them.
//
// A pure function: nothing is owned, safe from every thread.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// Four words of 32 uniform random bits.
struct PhiloxBlock {
  uint32_t word[4];
};

/// Block number `counter_hi * 2^64 + counter_lo` of the stream of `key`; the low halves are the first words
/// of the paper.
[[gnu::always_inline]] constexpr PhiloxBlock philox4x32(uint64_t counter_lo, uint64_t counter_hi,
                                                        uint64_t key) {
  auto c0 = static_cast<uint32_t>(counter_lo), c1 = static_cast<uint32_t>(counter_lo >> 32);
  auto c2 = static_cast<uint32_t>(counter_hi), c3 = static_cast<uint32_t>(counter_hi >> 32);
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9;  // the golden ratio
    k1 += 0xBB67AE85;  // sqrt(3) - 1
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace gradus::kernels

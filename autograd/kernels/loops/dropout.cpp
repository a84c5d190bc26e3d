// Dropout, with the mask drawn in whole vectors.
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"

#include <utility>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

constexpr int kPhiloxBlocks = 64;
constexpr uint64_t kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7};

template <int... i>
Vector<uint64_t> alternate_lanes(Vector<uint64_t> a, Vector<uint64_t> b, int half,
                                 std::integer_sequence<int, i...>) {
  constexpr int kCount = kLanes<uint64_t>;
  return half == 0 ? __builtin_shufflevector(a, b, (i / 2 + i % 2 * kCount)...)
                   : __builtin_shufflevector(a, b, (kCount / 2 + i / 2 + i % 2 * kCount)...);
}

// The words of kGroup vectors of blocks of Philox4x32-10 (philox.hpp), from block `first` on, counter_hi 0.
// The lower half of a 64-bit lane has a word of one block; the upper half is ignored.
template <int kGroup>
void philox_group(uint64_t first, uint64_t key, uint32_t* words) {
  using Lanes = Vector<uint64_t>;
  constexpr int kVector = kLanes<uint64_t>;
  Lanes w0[kGroup], w1[kGroup], w2[kGroup] = {}, w3[kGroup] = {};
  for (int g = 0; g < kGroup; ++g) {
    w0[g] = load(kNumbers) + (first + static_cast<uint64_t>(g * kVector));
    w1[g] = w0[g] >> 32;
  }
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    for (int g = 0; g < kGroup; ++g) {
      const Lanes p0 = multiply_low(w0[g], broadcast<uint64_t>(0xD2511F53));
      const Lanes p1 = multiply_low(w2[g], broadcast<uint64_t>(0xCD9E8D57));
      w0[g] = (p1 >> 32) ^ w1[g] ^ broadcast<uint64_t>(k0);
      w1[g] = p1;
      w2[g] = (p0 >> 32) ^ w3[g] ^ broadcast<uint64_t>(k1);
      w3[g] = p0;
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  constexpr auto lanes = std::make_integer_sequence<int, kVector>();
  for (int g = 0; g < kGroup; ++g) {
    const Lanes lower = (w0[g] & 0xFFFFFFFF) | (w1[g] << 32), upper = (w2[g] & 0xFFFFFFFF) | (w3[g] << 32);
    for (int half = 0; half < 2; ++half) {
      const Lanes pairs = alternate_lanes(lower, upper, half, lanes);
      __builtin_memcpy(words + (2 * g + half) * 2 * kVector, &pairs, sizeof pairs);
    }
  }
}

// The words of `blocks` blocks, and perhaps of some more. Four interleaved chains hide their latency.
inline void philox_words(uint64_t first, int blocks, uint64_t key, uint32_t* words) {
  constexpr int kVector = kLanes<uint64_t>;
  for (int block = 0; block < blocks; block += 4 * kVector) {
    const int left = blocks - block;
    const auto from = first + static_cast<uint64_t>(block);
    if (left > 2 * kVector)
      philox_group<4>(from, key, words + 4 * block);
    else if (left > kVector)
      philox_group<2>(from, key, words + 4 * block);
    else
      philox_group<1>(from, key, words + 4 * block);
  }
}

// Keeps elements whose word is at least the threshold.
template <class T>
void dropout(int64_t n, T* out, const T* x, uint32_t threshold, T scale, uint64_t key, uint64_t block) {
  constexpr int64_t kChunk = 4 * kPhiloxBlocks;
  uint32_t words[kChunk];
  for (int64_t start = 0; start < n; start += kChunk, block += kPhiloxBlocks) {
    const int64_t count = n - start < kChunk ? n - start : kChunk;
    philox_words(block, static_cast<int>((count + 3) / 4), key, words);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const T kept = x[start + i] * scale;
      out[start + i] = words[i] >= threshold ? kept : T{0};
    }
  }
}

GRADUS_BUILD(DropoutLoops, dropout<T>);

}  // namespace gradus::kernels::GRADUS_ISA

// Dropout's mask, drawn in whole vectors.
#include "gradus/autograd/kernels/dropout.hpp"

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/levels/vector.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

constexpr int kPhiloxBlocks = 64;
constexpr uint64_t kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7};

// The words of `blocks` blocks of Philox4x32-10 (philox.hpp), at most 64, from number `first` on
// with the upper half of the counter 0. A lane of 64 bits works on one block and holds a word of it in its
// lower half; what is left in the upper one does no harm, as products and the final packing look at the lower
// half only.
inline void philox_words(uint64_t first, int blocks, uint64_t key, uint32_t* words) {
  using Lanes = Vector<uint64_t>;
  constexpr int kGroup = 4,
                kStep = kLanes<uint64_t>;  // so many chains of rounds side by side hide their latency
  uint64_t lower[kPhiloxBlocks], upper[kPhiloxBlocks];
  for (int block = 0; block < blocks; block += kGroup * kStep) {
    Lanes w0[kGroup], w1[kGroup], w2[kGroup] = {}, w3[kGroup] = {};
    for (int g = 0; g < kGroup; ++g) {
      w0[g] = load(kNumbers) + (first + static_cast<uint64_t>(block + g * kStep));
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
    for (int g = 0; g < kGroup; ++g) {
      store(lower + block + g * kStep, (w0[g] & 0xFFFFFFFF) | (w1[g] << 32));
      store(upper + block + g * kStep, (w2[g] & 0xFFFFFFFF) | (w3[g] << 32));
    }
  }
  for (int block = 0; block < blocks; ++block) {
    const uint64_t pair[2] = {lower[block], upper[block]};
    __builtin_memcpy(words + 4 * block, pair, sizeof pair);
  }
}

// Kept where the word is at least the threshold.
template <class T>
void dropout(int64_t n, T* out, const T* x, uint32_t threshold, T scale, uint64_t key, uint64_t block) {
  constexpr int64_t kStep = 4 * kPhiloxBlocks;
  uint32_t words[kStep];
  for (int64_t start = 0; start < n; start += kStep, block += kPhiloxBlocks) {
    const int64_t count = n - start < kStep ? n - start : kStep;
    philox_words(block, static_cast<int>((count + 3) / 4), key, words);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const T kept = x[start + i] * scale;
      out[start + i] = words[i] >= threshold ? kept : T{0};
    }
  }
}

GRADUS_BUILD(DropoutLoops, dropout<T>);

}  // namespace gradus::kernels::GRADUS_LEVEL

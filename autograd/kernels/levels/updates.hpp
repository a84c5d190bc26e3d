// Loops of training: dropout, the norm of a gradient, AdamW.
#pragma once

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/levels/math.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

// Philox4x32-10 of philox.hpp for 64 counters side by side, one array a word, so that the loops over them vectorise. The
// upper half of the counter is 0.
struct PhiloxBatch {
  static constexpr int kBlocks = 64;
  uint32_t c[4][kBlocks];

  PhiloxBatch(uint64_t block, uint64_t key) {
    for (int i = 0; i < kBlocks; ++i) {
      const uint64_t counter = block + static_cast<uint64_t>(i);
      c[0][i] = static_cast<uint32_t>(counter);
      c[1][i] = static_cast<uint32_t>(counter >> 32);
      c[2][i] = c[3][i] = 0;
    }
    auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
#pragma omp simd
      for (int i = 0; i < kBlocks; ++i) {
        const uint64_t p0 = uint64_t{0xD2511F53} * c[0][i], p1 = uint64_t{0xCD9E8D57} * c[2][i];
        const uint32_t c1 = c[1][i], c3 = c[3][i];
        c[0][i] = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
        c[1][i] = static_cast<uint32_t>(p1);
        c[2][i] = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
        c[3][i] = static_cast<uint32_t>(p0);
      }
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
  }
};

// Kept where the word is at least the threshold.
template <class T>
void dropout(int64_t n, T* out, const T* x, uint32_t threshold, T scale, uint64_t key, uint64_t block) {
  constexpr int64_t kStep = 4 * PhiloxBatch::kBlocks;
  for (int64_t start = 0; start < n; start += kStep, block += PhiloxBatch::kBlocks) {
    const PhiloxBatch words(block, key);
    T factor[kStep];
    for (int i = 0; i < PhiloxBatch::kBlocks; ++i)
      for (int w = 0; w < 4; ++w) factor[4 * i + w] = words.c[w][i] >= threshold ? scale : T{0};
    const int64_t count = n - start < kStep ? n - start : kStep;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) out[start + i] = factor[i] != T{0} ? x[start + i] * factor[i] : T{0};
  }
}

template <class T>
double sum_of_squares(int64_t n, const T* x) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

template <class T>
void adamw(int64_t n, T* param, T* m, T* v, const T* grad, const AdamWFactors<T>& f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i] * f.grad_scale;
    m[i] = f.beta1 * m[i] + f.one_minus_beta1 * g;
    v[i] = f.beta2 * v[i] + f.one_minus_beta2 * g * g;
    param[i] = param[i] * f.shrink - f.rate * (m[i] / (std::sqrt(v[i]) * f.root + f.eps));
  }
}

}  // namespace gradus::kernels::GRADUS_LEVEL

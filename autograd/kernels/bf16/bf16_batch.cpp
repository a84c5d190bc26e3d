#include "gradus/autograd/kernels/bf16/bf16_batch.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/bf16/bf16_product.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kSmallBatch = int64_t{1} << 20;  // multiply-adds that one thread does sooner than share

}  // namespace

void gemm_batch_bf16(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, Trans ta, Trans tb,
                     int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c) {
  const int64_t grain = std::max<int64_t>(1, kSmallBatch / std::max<int64_t>(1, m * n * k));
  parallel_for(batch, grain, [&](int64_t begin, int64_t end) {
    PackedBf16 left = packed_matrix(Side::left, m, k), right = packed_matrix(Side::right, k, n);
    for (int64_t i = begin; i < end; ++i) {
      pack(ta, a + a_offset[i], lda, left);
      pack(tb, b + b_offset[i], ldb, right);
      multiply_bf16(left, right, c + i * m * n, n);
    }
  });
}

}  // namespace gradus::kernels

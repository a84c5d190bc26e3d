#include <algorithm>
#include <cmath>
#include <vector>

#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/quantized/quantized.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

// Sharing fewer weights than this takes longer than reading them on one thread.
constexpr int64_t kSmallTileRead = int64_t{1} << 18;
constexpr int64_t kWidened = 8 * kWeightRows;  // rows of weights that are float32 at a time

void dots(int64_t count, const Q8Tile* tiles, RoundedRow x, float* y) {
  isa_loops<TileLoops>().q8(count, tiles, x, y);
}
void dots(int64_t count, const Q4Tile* tiles, RoundedRow x, float* y) {
  isa_loops<TileLoops>().q4(count, tiles, x, y);
}

/// Rows (m, k) of x, each filled up to whole tiles.
class RoundedRows {
 public:
  RoundedRows(int64_t m, int64_t k, const float* x, int64_t ldx)
      : count_(tiles_of(k)),
        values_(static_cast<size_t>(m * count_ * kWeightColumns)),
        scales_(static_cast<size_t>(m * count_)),
        sums_(static_cast<size_t>(m * count_)) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t t = 0; t < count_; ++t)
        round(i * count_ + t, std::min(kWeightColumns, k - t * kWeightColumns),
              x + i * ldx + t * kWeightColumns);
  }

  RoundedRow row(int64_t i) const {
    return {values_.data() + i * count_ * kWeightColumns, scales_.data() + i * count_,
            sums_.data() + i * count_};
  }

 private:
  void round(int64_t at, int64_t n, const float* x) {
    float largest = 0, wrong = 0;  // wrong becomes NaN by an infinity or a NaN
    for (int64_t i = 0; i < n; ++i) {
      largest = std::max(largest, std::abs(x[i]));
      wrong += x[i] * 0.0F;
    }
    const float up = largest < 0x1p-100F ? 0x1p40F : 1.0F;  // else 127 / largest may be infinite
    const float inverse = largest > 0 && wrong == 0 ? 127.0F / (largest * up) : 0.0F;
    int8_t* values = values_.data() + at * kWeightColumns;
    for (int64_t i = 0; i < n; ++i) {
      values[i] = static_cast<int8_t>(wrong == 0 ? std::nearbyint(x[i] * up * inverse) : 0.0F);
      sums_[static_cast<size_t>(at)] += values[i];
    }
    scales_[static_cast<size_t>(at)] = largest / 127.0F + wrong;
  }

  int64_t count_;
  std::vector<int8_t> values_;
  std::vector<float> scales_;
  std::vector<int32_t> sums_;
};

}  // namespace

template <class Tile>
void quantized_linear(int64_t m, int64_t n, int64_t k, float* y, const float* x, int64_t ldx, const Tile* w,
                      const float* bias) {
  if (m > kFewRows) {
    parallel_for(n, kWidened, [&](int64_t begin, int64_t end) {
      std::vector<float> wide(static_cast<size_t>((end - begin) * k));
      from_tiles(begin, end, k, wide.data(), w);
      for (int64_t i = 0; bias && i < m; ++i) std::copy_n(bias + begin, end - begin, y + i * n + begin);
      gemm_serial(Trans::no, Trans::yes, m, end - begin, k, 1.0F, x, ldx, wide.data(), k, bias ? 1.0F : 0.0F,
                  y + begin, n);
    });
    return;
  }
  const RoundedRows rounded(m, k, x, ldx);
  const int64_t groups = (n + kWeightRows - 1) / kWeightRows, count = tiles_of(k);
  parallel_for(groups, std::max<int64_t>(1, kSmallTileRead / std::max<int64_t>(1, kWeightRows * m * k)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t group = begin; group < end; ++group)
                   for (int64_t i = 0; i < m; ++i) {
                     float sums[kWeightRows];
                     dots(count, w + group * count, rounded.row(i), sums);
                     const int64_t first = group * kWeightRows;
                     for (int64_t r = 0; r < std::min(kWeightRows, n - first); ++r)
                       y[i * n + first + r] = sums[r] + (bias ? bias[first + r] : 0.0F);
                   }
               });
}

template void quantized_linear(int64_t, int64_t, int64_t, float*, const float*, int64_t, const Q8Tile*,
                               const float*);
template void quantized_linear(int64_t, int64_t, int64_t, float*, const float*, int64_t, const Q4Tile*,
                               const float*);

}  // namespace gradus::kernels

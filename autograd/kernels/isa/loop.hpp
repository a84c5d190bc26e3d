// Loop: sizes and strides of operands that are walked together, the one description of a strided loop nest.
//
// A plain value that owns nothing; sizes and strides are in elements, outermost first.
#pragma once

#include <cstdint>

namespace gradus::kernels {

inline constexpr int kMaxDims = 8;

/// A loop nest over N operands of one shape; operand 0 is the output. Stride 0 = broadcast.
template <int N>
struct Loop {
  int dims = 0;
  int64_t size[kMaxDims] = {};
  int64_t stride[N][kMaxDims] = {};

  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < dims; ++d) n *= size[d];
    return n;
  }

  /// Drops dimensions of size 1 and merges neighbours that one stride can walk, keeping the order of the
  /// elements.
  void coalesce() {
    int kept = 0;
    for (int d = 0; d < dims; ++d) {
      if (size[d] == 1) continue;
      if (kept > 0 && continues(kept - 1, d)) {
        size[kept - 1] *= size[d];
        for (int k = 0; k < N; ++k) stride[k][kept - 1] = stride[k][d];
        continue;
      }
      size[kept] = size[d];
      for (int k = 0; k < N; ++k) stride[k][kept] = stride[k][d];
      ++kept;
    }
    dims = kept;
  }

 private:
  bool continues(int outer, int inner) const {
    for (int k = 0; k < N; ++k) {
      if (stride[k][outer] != stride[k][inner] * size[inner]) return false;
    }
    return true;
  }
};

}  // namespace gradus::kernels

// Rotary position embedding: rotates pairs of features by angles proportional to the position (Su et al.,
// "RoFormer", arXiv 2104.09864, section 3.2), with the order of features of Hugging Face's files. The bits of
// a row depend on its values and its position only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gradus/autograd/kernels/attention/attention.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// Sizes and angles, for (batch, heads, positions, head_size): features i and i + head_size / 2 of row t are
/// a pair, rotated by (offset + t) * frequencies[i] radians and multiplied by scale; `back`: by the negative
/// angle.
struct Rotation {
  int64_t batch, heads, positions, head_size, offset;
  const double* frequencies;
  double scale;
  bool back;
};

/// Loops over one row of 2 * half features.
template <class T>
struct RotaryLoops {
  void (*rotate)(int64_t half, T* y, const T* x, const T* cosines, const T* sines);
};

/// y = x with rotated rows. Angles, sines and cosines are computed in double.
template <class T>
void rotary_embedding(const Rotation& r, T* y, View4 sy, const T* x, View4 sx) {
  const int64_t half = r.head_size / 2;
  for_each_row(r.positions, r.batch * r.heads * r.head_size, [&](int64_t t) {
    static thread_local std::vector<T> cosines, sines;
    cosines.resize(static_cast<size_t>(half));
    sines.resize(static_cast<size_t>(half));
    const double position = static_cast<double>(r.offset) + static_cast<double>(t);
    for (size_t i = 0; i < cosines.size(); ++i) {
      const double angle = position * r.frequencies[i];
      cosines[i] = static_cast<T>(r.scale * std::cos(angle));
      sines[i] = static_cast<T>(r.scale * (r.back ? -std::sin(angle) : std::sin(angle)));
    }
    for (int64_t row = 0; row < r.batch * r.heads; ++row) {
      const int64_t b = row / r.heads, h = row % r.heads;
      isa_loops<RotaryLoops<T>>().rotate(half, y + b * sy.batch + h * sy.head + t * sy.row,
                                         x + b * sx.batch + h * sx.head + t * sx.row, cosines.data(),
                                         sines.data());
    }
  });
}

}  // namespace gradus::kernels

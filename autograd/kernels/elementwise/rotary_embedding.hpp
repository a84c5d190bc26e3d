// Rotary position embedding: rotates pairs of features by angles proportional to the position (Su et al.,
// "RoFormer", arXiv 2104.09864, section 3.2), with the order of features of Hugging Face's files. The bits of
// a row depend on its values and its position only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "gradus/autograd/kernels/elementwise/loop.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// Sizes and angles, for (batch, heads, positions, head_size): features i and i + head_size / 2 of row t are
/// a pair, rotated by (offset + t) * frequencies[i] radians and multiplied by scale; `back`: by -angle.
struct Rotation {
  int64_t batch, heads, positions, head_size, offset;
  const double* frequencies;
  double scale;
  bool back;
};

/// Loops over rows of 2 * half features, one for each head, `sx` and `sy` elements apart. `sign` -1: back.
template <class T>
struct RotaryLoops {
  void (*rotate)(int64_t heads, int64_t half, T* y, int64_t sy, const T* x, int64_t sx, const T* cosines,
                 const T* sines, T sign);
};

/// Cosines and sines of a rotation's angles, computed in double. A thread keeps the last ones.
template <class T>
class RotaryTable {
 public:
  static const RotaryTable& of(const Rotation& r) {
    static thread_local RotaryTable last;
    last.update(r);
    return last;
  }

  const T* cosines(int64_t position) const {
    return values_.data() + 2 * half() * static_cast<size_t>(position);
  }
  const T* sines(int64_t position) const { return cosines(position) + half(); }

 private:
  size_t half() const { return frequencies_.size(); }

  void update(const Rotation& r) {
    const std::span<const double> wanted(r.frequencies, static_cast<size_t>(r.head_size / 2));
    if (offset_ != r.offset || scale_ != r.scale || !std::ranges::equal(frequencies_, wanted)) {
      values_.clear();
      frequencies_.assign(wanted.begin(), wanted.end());
      offset_ = r.offset;
      scale_ = r.scale;
    }
    const auto positions = static_cast<size_t>(r.positions);
    size_t t = values_.size() / (2 * half());
    values_.resize(2 * half() * std::max(t, positions));
    for (; t < positions; ++t)
      for (size_t i = 0; i < half(); ++i) {
        const double angle = static_cast<double>(offset_ + static_cast<int64_t>(t)) * frequencies_[i];
        values_[2 * half() * t + i] = static_cast<T>(scale_ * std::cos(angle));
        values_[2 * half() * t + half() + i] = static_cast<T>(scale_ * std::sin(angle));
      }
  }

  std::vector<double> frequencies_;
  int64_t offset_ = 0;
  double scale_ = 0.0;
  std::vector<T> values_;  // (positions, 2, half)
};

/// y = x with rotated rows.
template <class T>
void rotary_embedding(const Rotation& r, T* y, View4 sy, const T* x, View4 sx) {
  const RotaryTable<T>& table = RotaryTable<T>::of(r);
  for_each_row(r.batch * r.positions, r.heads * r.head_size, [&](int64_t row) {
    const int64_t b = row / r.positions, t = row % r.positions;
    isa_loops<RotaryLoops<T>>().rotate(r.heads, r.head_size / 2, y + b * sy.batch + t * sy.row, sy.head,
                                       x + b * sx.batch + t * sx.row, sx.head, table.cosines(t),
                                       table.sines(t), r.back ? T{-1} : T{1});
  });
}

}  // namespace gradus::kernels

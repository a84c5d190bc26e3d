// Windows that slide over images: convolution, pooling, unfold and fold.
#pragma once

#include "gradus/autograd/reference/array.hpp"
#include "gradus/autograd/reference/dual.hpp"

namespace gradus::reference {

/// One dimension of an image and of the windows on it: element k of window o is at o stride - padding + k
/// dilation; outside [0, size) it is padding.
struct Axis {
  explicit Axis(const Sizes& s)
      : size(s[0]), kernel(s[1]), stride(s[2]), padding(s[3]), dilation(s[4]), windows(s[5]) {}
  int64_t at(int64_t o, int64_t k) const { return o * stride - padding + k * dilation; }
  bool holds(int64_t i) const { return i >= 0 && i < size; }
  int64_t size, kernel, stride, padding, dilation, windows;
};

/// Calls f(place in the plane, element of the kernel, window) for elements of windows that are no padding.
template <class F>
void for_each_element(const Axis& r, const Axis& c, F f) {
  for_each_index({r.windows, c.windows, r.kernel, c.kernel}, [&](const Sizes& i) {
    const int64_t row = r.at(i[0], i[2]), column = c.at(i[1], i[3]);
    if (r.holds(row) && c.holds(column))
      f(row * c.size + column, i[2] * c.kernel + i[3], i[0] * c.windows + i[1]);
  });
}

/// Images (N, C, H, W) -> (N, C kernel, windows): the elements of each window, 0 for padding (im2col).
template <class T>
Array<T> unfold(const Array<T>& x, const Axis& r, const Axis& c) {
  const int64_t kernel = r.kernel * c.kernel, windows = r.windows * c.windows, plane = r.size * c.size;
  Array<T> y({x.size(0), x.size(1) * kernel, windows});
  for (int64_t p = 0; p < x.size(0) * x.size(1); ++p)
    for_each_element(r, c, [&](int64_t at, int64_t k, int64_t w) {
      y[(p * kernel + k) * windows + w] = x[p * plane + at];
    });
  return y;
}

/// The adjoint: sums (N, C kernel, windows) at their places in images (N, C, H, W).
template <class T>
Array<T> fold(const Array<T>& x, const Axis& r, const Axis& c) {
  const int64_t kernel = r.kernel * c.kernel, windows = r.windows * c.windows, plane = r.size * c.size;
  Array<T> y({x.size(0), x.size(1) / kernel, r.size, c.size});
  for (int64_t p = 0; p < y.size(0) * y.size(1); ++p)
    for_each_element(r, c, [&](int64_t at, int64_t k, int64_t w) {
      y[p * plane + at] += x[(p * kernel + k) * windows + w];
    });
  return y;
}

/// y_(n, o, w) = bias_o + sum over channels and the kernel of weight_(o, i, k) x_(n, i, window w at k): x (N,
/// C, H, W), weight (O, C / groups, kernel) (LeCun et al., 1989).
template <class T>
Array<T> conv2d(const Array<T>& x, const Array<T>& weight, const Array<T>& bias, const Axis& r, const Axis& c,
                int64_t groups) {
  const int64_t N = x.size(0), O = weight.size(0), in = weight.size(1), plane = r.size * c.size;
  const int64_t kernel = r.kernel * c.kernel, windows = r.windows * c.windows;
  Array<T> y({N, O, r.windows, c.windows});
  for_each_index({N, O, in}, [&](const Sizes& i) {
    const int64_t channel = i[1] / (O / groups) * in + i[2], out = (i[0] * O + i[1]) * windows;
    for (int64_t w = 0; bias.defined && i[2] == 0 && w < windows; ++w) y[out + w] += bias[i[1]];
    for_each_element(r, c, [&](int64_t at, int64_t k, int64_t w) {
      y[out + w] += weight[(i[1] * in + i[2]) * kernel + k] * x[(i[0] * in * groups + channel) * plane + at];
    });
  });
  return y;
}

/// The largest element of each window, the first among equals, or a NaN; its derivative is that element's.
template <class T>
Array<T> max_pool2d(const Array<T>& x, const Axis& r, const Axis& c) {
  const int64_t windows = r.windows * c.windows, plane = r.size * c.size;
  Array<T> y({x.size(0), x.size(1), r.windows, c.windows});
  for (T& v : y.data) v = T(-INFINITY);
  for (int64_t p = 0; p < x.size(0) * x.size(1); ++p)
    for_each_element(r, c, [&](int64_t at, int64_t, int64_t w) {
      const T v = x[p * plane + at];
      if (v > y[p * windows + w] || plain(v) != plain(v)) y[p * windows + w] = v;
    });
  return y;
}

}  // namespace gradus::reference

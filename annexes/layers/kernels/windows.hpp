// Windows that slide over planes (height, width): columns of windows (im2col), their sums, and maxima.
//
// Everything is contiguous. The bits of a plane depend on that plane only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// A dimension of a plane and its windows. Window o reads size elements from o * stride - padding, dilated.
struct WindowAxis {
  int64_t size, kernel, stride, padding, dilation, out;

  int64_t start(int64_t o) const { return o * stride - padding; }
  /// The place of the first element of window o at or after the start of the plane.
  int64_t inside(int64_t o) const {
    return start(o) < 0 ? start(o) + ceil_div(-start(o), dilation) * dilation : start(o);
  }
  /// The first windows whose elements k are at or after the start of the plane, and at or after its end.
  int64_t first(int64_t k) const { return reaching(0, k); }
  int64_t last(int64_t k) const { return reaching(size, k); }

 private:
  int64_t reaching(int64_t place, int64_t k) const {
    const int64_t distance = place + padding - k * dilation;
    return distance <= 0 ? 0 : std::min(out, ceil_div(distance, stride));
  }
};

struct Windows {
  WindowAxis rows, columns;

  int64_t plane() const { return rows.size * columns.size; }
  int64_t kernel() const { return rows.kernel * columns.kernel; }
  int64_t count() const { return rows.out * columns.out; }
};

/// Neighbouring windows whose element k is inside the plane in one dimension; the first one's is at `place`.
struct Run {
  int64_t first, last, place;
};

/// One for each element k of the kernel.
inline std::vector<Run> runs_of(const WindowAxis& axis) {
  std::vector<Run> runs;
  for (int64_t k = 0; k < axis.kernel; ++k) {
    const int64_t first = axis.first(k);
    runs.push_back({first, axis.last(k), axis.start(first) + k * axis.dilation});
  }
  return runs;
}

/// Calls f(at, from, rows, columns) for each element of the kernel in each of `planes` planes: `at` is the
/// index of its first window in the columns (planes, kernel, count), `from` that of the first element that is
/// read in the planes, `rows` and `columns` are the windows that do not read padding.
template <class F>
void for_each_element(const Windows& w, int64_t planes, F&& f) {
  const std::vector<Run> all_rows = runs_of(w.rows), all_columns = runs_of(w.columns);
  int64_t at = 0;
  for (int64_t p = 0; p < planes; ++p)
    for (const Run& rows : all_rows)
      for (const Run& columns : all_columns) {
        f(at, p * w.plane() + rows.place * w.columns.size + columns.place, rows, columns);
        at += w.count();
      }
}

/// columns (planes, kernel, count) of x (planes, height, width): the elements that each window reads.
template <class T>
void unfold(const Windows& w, int64_t planes, T* columns, const T* x) {
  const int64_t stride = w.columns.stride, out = w.columns.out, down = w.rows.stride * w.columns.size;
  for_each_element(w, planes, [&](int64_t at, int64_t from, const Run& r, const Run& c) {
    T* to = std::fill_n(columns + at, r.first * out, T{0});
    for (int64_t o = r.first; o < r.last; ++o, to += out, from += down) {
      std::fill(to, to + c.first, T{0});
      if (stride == 1)
        std::copy_n(x + from, c.last - c.first, to + c.first);
      else
        for (int64_t i = 0; i < c.last - c.first; ++i) to[c.first + i] = x[from + i * stride];
      std::fill(to + c.last, to + out, T{0});
    }
    std::fill(to, columns + at + w.count(), T{0});
  });
}

/// The adjoint of unfold: x = for each element, the sum of the columns' elements that were read from it.
template <class T>
void fold(const Windows& w, int64_t planes, T* x, const T* columns) {
  const int64_t stride = w.columns.stride, down = w.rows.stride * w.columns.size;
  std::fill_n(x, planes * w.plane(), T{0});
  for_each_element(w, planes, [&](int64_t at, int64_t from, const Run& r, const Run& c) {
    for (int64_t o = r.first; o < r.last; ++o, from += down) {
      const T* const source = columns + at + o * w.columns.out + c.first;
      if (stride == 1)
        for (int64_t i = 0; i < c.last - c.first; ++i) x[from + i] += source[i];
      else
        for (int64_t i = 0; i < c.last - c.first; ++i) x[from + i * stride] += source[i];
    }
  });
}

template <class T>
struct WindowLoops {
  /// Replaces best[i] by x[i * stride], and place[i] by at + i * stride, where that is larger or NaN.
  void (*max)(int64_t n, int64_t stride, T* best, int64_t* place, const T* x, int64_t at);
};

/// The largest of each window, or a NaN, and its place in the plane; the first of equals. (planes, count).
template <class T>
void max_pool(const Windows& w, int64_t planes, T* y, int64_t* index, const T* x) {
  const WindowAxis &r = w.rows, &c = w.columns;
  const std::vector<Run> runs = runs_of(c);
  for_each_row(planes, w.plane() + w.count() * w.kernel(), [&](int64_t p) {
    for (int64_t o = 0; o < r.out; ++o) {
      T* const best = y + p * w.count() + o * c.out;
      int64_t* const place = index + p * w.count() + o * c.out;
      std::fill_n(best, c.out, -std::numeric_limits<T>::infinity());
      for (int64_t k = 0; k < c.out; ++k)  // where all elements are -inf, or padding
        place[k] = std::min(r.inside(o), r.size - 1) * c.size + std::min(c.inside(k), c.size - 1);
      const int64_t end = std::min(r.size, r.start(o) + r.kernel * r.dilation);
      for (int64_t row = r.inside(o); row < end; row += r.dilation)
        for (const Run& run : runs)
          isa_loops<WindowLoops<T>>().max(run.last - run.first, c.stride, best + run.first, place + run.first,
                                          x + p * w.plane() + row * c.size + run.place,
                                          row * c.size + run.place);
    }
  });
}

}  // namespace gradus::kernels

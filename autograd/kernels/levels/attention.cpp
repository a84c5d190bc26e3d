// Attention's inner loops: small products kept in registers, and what happens to a row of scores.
#include "gradus/autograd/kernels/attention_loops.hpp"
#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/levels/math.hpp"
#include "gradus/autograd/kernels/levels/vector.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

// Rows and vectors of a tile of a product: sums enough to hide the latency of a multiply-add, few enough for
// the registers.
constexpr int kTileRows = kVectorBytes == 64 ? 8 : 6, kTileVectors = 2;

/// Four rows of four: 4 loads, 8 shuffles and 4 stores instead of 16 loads and 16 stores far apart.
template <class T>
void transpose_square(const T* x, int64_t x_row, T* y, int64_t y_row) {
  Four<T> square[4];
  for (int i = 0; i < 4; ++i) __builtin_memcpy(&square[i], x + i * x_row, sizeof square[i]);
  transpose(square);
  for (int i = 0; i < 4; ++i) __builtin_memcpy(y + i * y_row, &square[i], sizeof square[i]);
}

template <class T>
void transpose(int64_t rows, int64_t columns, const T* x, int64_t x_row, T* y, int64_t y_row) {
  const int64_t square_rows = rows / 4 * 4, square_columns = columns / 4 * 4;
  for (int64_t i = 0; i < rows; ++i) {
    const bool squares = i < square_rows;
    if (squares && i % 4 == 0) {
      for (int64_t j = 0; j < square_columns; j += 4)
        transpose_square(x + i * x_row + j, x_row, y + j * y_row + i, y_row);
    }
    for (int64_t j = squares ? square_columns : 0; j < columns; ++j) y[j * y_row + i] = x[i * x_row + j];
  }
}

/// A panel of a and where the columns of b and c that belong to it begin.
template <class T>
struct Panel {
  int64_t k;
  const T* a;
  int64_t a_row, a_k;
  const T* b;
  int64_t b_row;
  bool add;
  T* c;
  int64_t c_row;
};

template <int rows, int vectors, class T>
void tile(Panel<T> o, int64_t column) {
  Vector<T> sum[rows][vectors];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < vectors; ++j) sum[i][j] = Vector<T>{};
  const T* b = o.b + column;
  T* c = o.c + column;
  for (int64_t l = 0; l < o.k; ++l) {
    Vector<T> line[vectors];
    for (int j = 0; j < vectors; ++j) line[j] = load(b + l * o.b_row + j * kLanes<T>);
    for (int i = 0; i < rows; ++i) {
      const Vector<T> value = broadcast(o.a[i * o.a_row + l * o.a_k]);
      for (int j = 0; j < vectors; ++j) sum[i][j] = fused(value, line[j], sum[i][j]);
    }
  }
  if (o.add) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < vectors; ++j) sum[i][j] += load(c + i * o.c_row + j * kLanes<T>);
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < vectors; ++j) store(c + i * o.c_row + j * kLanes<T>, sum[i][j]);
}

/// The last columns, fewer than a vector has lanes.
template <int rows, class T>
void narrow_tile(const Panel<T>& o, int64_t column, int64_t count) {
  Vector<T> sum[rows];
  for (int i = 0; i < rows; ++i) sum[i] = Vector<T>{};
  for (int64_t l = 0; l < o.k; ++l) {
    const Vector<T> line = load_part(o.b + l * o.b_row + column, count);
    for (int i = 0; i < rows; ++i) sum[i] = fused(broadcast(o.a[i * o.a_row + l * o.a_k]), line, sum[i]);
  }
  for (int i = 0; i < rows; ++i) {
    T* c = o.c + i * o.c_row + column;
    store_part(c, count, o.add ? load_part(c, count) + sum[i] : sum[i]);
  }
}

template <int rows, class T>
void panel(const Panel<T>& o, int64_t n) {
  constexpr int64_t wide = kTileVectors * kLanes<T>;
  int64_t column = 0;
  for (; column + wide <= n; column += wide) tile<rows, kTileVectors>(o, column);
  for (; column + kLanes<T> <= n; column += kLanes<T>) tile<rows, 1>(o, column);
  if (column < n) narrow_tile<rows>(o, column, n - column);
}

/// panel<rows>, found by trying kTileRows, kTileRows - 1, ...
template <int candidate, class T>
void choose_panel(int64_t rows, const Panel<T>& o, int64_t n) {
  if constexpr (candidate > 0) {
    if (rows == candidate) return panel<candidate>(o, n);
    choose_panel<candidate - 1>(rows, o, n);
  }
}

template <class T>
void multiply(int64_t rows, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_k, const T* b,
              int64_t b_row, bool add, T* c, int64_t c_row) {
  choose_panel<kTileRows>(rows, Panel<T>{k, a, a_row, a_k, b, b_row, add, c, c_row}, n);
}

// Rows of scores are worked on in whole vectors, into their margin: a causal row has any length, and a
// remainder loop would take as long as the row.
constexpr int64_t kRowStep = 16;

inline int64_t whole_vectors(int64_t n) { return (n + kRowStep - 1) / kRowStep * kRowStep; }

template <class T>
void zero_margin(int64_t n, T* row) {
  for (int64_t i = n; i < n + kAttentionMargin; ++i) row[i] = 0;
}

/// The first `count` lanes of x, and in the others `rest`.
template <class T>
Vector<T> first_lanes(int64_t count, Vector<T> x, Vector<T> rest) {
  Vector<T> lane;
  for (int i = 0; i < kLanes<T>; ++i) lane[i] = static_cast<T>(i);
  return lane < static_cast<T>(count) ? x : rest;
}

template <class T>
T attention_exponentials(int64_t n, T* s, T scale, T* max) {
  Vector<T> largest = broadcast(*max);
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    const Vector<T> x = first_lanes<T>(n - i, load(s + i) * scale, largest);
    largest = x > largest ? x : largest;
  }
  for (int lane = 0; lane < kLanes<T>; ++lane) *max = largest[lane] > *max ? largest[lane] : *max;
  // -inf - -inf is NaN, where exp should give 0.
  const T base = *max == -__builtin_huge_val() ? T{0} : *max;
#pragma omp simd
  for (int64_t i = 0; i < whole_vectors(n); ++i) s[i] = exp_(s[i] * scale - base);
  Vector<T> sums = {};
  for (int64_t i = 0; i < n; i += kLanes<T>) sums += first_lanes<T>(n - i, load(s + i), Vector<T>{});
  zero_margin(n, s);
  T sum = 0;
  for (int lane = 0; lane < kLanes<T>; ++lane) sum += sums[lane];
  return sum;
}

template <bool kDropout, class T>
void row_gradients(int64_t n, T* s, T* g, T scale, T max, T share, T delta, const T* factor) {
#pragma omp simd
  for (int64_t i = 0; i < whole_vectors(n); ++i) {
    const T p = exp_(s[i] * scale - max) * share, f = kDropout ? factor[i] : T{1};
    g[i] = scale * p * (g[i] * f - delta);
    s[i] = p * f;
  }
  zero_margin(n, s);
  zero_margin(n, g);
}

template <class T>
void attention_gradients(int64_t n, T* s, T* g, T scale, T max, T share, T delta, const T* factor) {
  if (factor) {
    row_gradients<true>(n, s, g, scale, max, share, delta, factor);
  } else {
    row_gradients<false>(n, s, g, scale, max, share, delta, factor);
  }
}

GRADUS_BUILD(AttentionLoops, kTileRows, multiply<T>, transpose<T>, attention_exponentials<T>,
             attention_gradients<T>);

}  // namespace gradus::kernels::GRADUS_LEVEL

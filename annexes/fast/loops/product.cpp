// Products whose sums stay in registers.
#include "gradus/annexes/fast/product/float_product.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

// Rows and vectors of a tile: enough sums to hide the latency of a multiply-add, and registers for them.
constexpr int kTileRows = kVectorBytes == 64 ? 8 : 6, kTileVectors = 2;
// The same for packed rows of b: with 32 registers, fewer loads of a.
constexpr int kPackedRows = 6, kPackedVectors = kVectorBytes == 64 ? 4 : 2;
// With OpenBLAS 0.3.21, training GPT-2 takes 13 to 20 % longer with AVX-512, and up to 4 % less with AVX2.
constexpr bool kBeatBlas = kVectorBytes == 64;
// Rows of b that are prefetched ahead, from the second-level cache.
constexpr int kRowsAhead = 4;

template <class T>
void transpose_square(const T* x, int64_t x_row, T* y, int64_t y_row) {
  Vector<T> square[kLanes<T>];
  for (int i = 0; i < kLanes<T>; ++i) square[i] = load(x + i * x_row);
  transpose(square);
  for (int i = 0; i < kLanes<T>; ++i) store(y + i * y_row, square[i]);
}

template <class T>
void transpose(int64_t rows, int64_t columns, const T* x, int64_t x_row, T* y, int64_t y_row) {
  constexpr int64_t kSquare = kLanes<T>;
  const int64_t square_rows = rows / kSquare * kSquare, square_columns = columns / kSquare * kSquare;
  for (int64_t i = 0; i < rows; ++i) {
    const bool squares = i < square_rows;
    if (squares && i % kSquare == 0) {
      for (int64_t j = 0; j < square_columns; j += kSquare)
        transpose_square(x + i * x_row + j, x_row, y + j * y_row + i, y_row);
    }
    for (int64_t j = squares ? square_columns : 0; j < columns; ++j) y[j * y_row + i] = x[i * x_row + j];
  }
}

/// A panel of rows of a, and the matrices b, start and c.
template <class T>
struct Panel {
  int64_t k;
  const T* a;
  int64_t a_row, a_k;
  const T* b;
  int64_t b_row;
  const T* start;
  int64_t start_row;
  T* c;
  int64_t c_row;
};

template <int rows, int vectors, class T>
void tile(const Panel<T>& o, int64_t column) {
  Vector<T> sum[rows][vectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) sum[i][j] = Vector<T>{};
  const T *a = o.a, *b = o.b + column;
  T* const c = o.c + column;
  if constexpr (vectors > kTileVectors)
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < vectors; ++j) __builtin_prefetch(c + i * o.c_row + j * kLanes<T>, 1);
  for (int64_t l = 0; l < o.k; ++l) {
    Vector<T> line[vectors];
    for (int j = 0; j < vectors; ++j) {
      if constexpr (vectors > kTileVectors) __builtin_prefetch(b + kRowsAhead * o.b_row + j * kLanes<T>);
      line[j] = load(b + j * kLanes<T>);
    }
    for (int i = 0; i < rows; ++i) {
      const Vector<T> value = broadcast(a[i * o.a_row]);
      for (int j = 0; j < vectors; ++j) sum[i][j] = fused(value, line[j], sum[i][j]);
    }
    a += o.a_k;
    b += o.b_row;
  }
  if (o.start) {
    const T* const start = o.start + column;
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[i][j] += load(start + i * o.start_row + j * kLanes<T>);
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) store(c + i * o.c_row + j * kLanes<T>, sum[i][j]);
}

/// The last columns, fewer than the lanes of a vector.
template <int rows, class T>
void narrow_tile(const Panel<T>& o, int64_t column, int64_t count) {
  Vector<T> sum[rows];
  for (int i = 0; i < rows; ++i) sum[i] = Vector<T>{};
  for (int64_t l = 0; l < o.k; ++l) {
    const Vector<T> line = load_part(o.b + l * o.b_row + column, count);
    for (int i = 0; i < rows; ++i) sum[i] = fused(broadcast(o.a[i * o.a_row + l * o.a_k]), line, sum[i]);
  }
  for (int i = 0; i < rows; ++i) {
    if (o.start) sum[i] += load_part(o.start + i * o.start_row + column, count);
    store_part(o.c + i * o.c_row + column, count, sum[i]);
  }
}

template <int rows, class T>
void panel(const Panel<T>& o, int64_t n) {
  constexpr int64_t packed = kPackedVectors * kLanes<T>, wide = kTileVectors * kLanes<T>;
  int64_t column = 0;
  if constexpr (rows <= kPackedRows && packed > wide)
    for (; column + packed <= n; column += packed) tile<rows, kPackedVectors>(o, column);
  for (; column + wide <= n; column += wide) tile<rows, kTileVectors>(o, column);
  for (; column + kLanes<T> <= n; column += kLanes<T>) tile<rows, 1>(o, column);
  if (column < n) narrow_tile<rows>(o, column, n - column);
}

/// Calls panel<rows>.
template <int candidate, class T>
void choose_panel(int64_t rows, const Panel<T>& o, int64_t n) {
  if constexpr (candidate > 0) {
    if (rows == candidate) return panel<candidate>(o, n);
    choose_panel<candidate - 1>(rows, o, n);
  }
}

template <class T>
void multiply(int64_t rows, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_k, const T* b,
              int64_t b_row, const T* start, int64_t start_row, T* c, int64_t c_row) {
  choose_panel<kTileRows>(rows, Panel<T>{k, a, a_row, a_k, b, b_row, start, start_row, c, c_row}, n);
}

GRADUS_BUILD(ProductLoops, kTileRows, kPackedRows, kPackedVectors* kLanes<T>, kBeatBlas, multiply<T>,
             transpose<T>);

}  // namespace gradus::kernels::GRADUS_ISA

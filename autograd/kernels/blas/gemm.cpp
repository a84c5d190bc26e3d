#include "gradus/autograd/kernels/blas/gemm.hpp"

#include <cblas.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/few_rows.hpp"
#include "gradus/autograd/kernels/blas/float_product.hpp"
#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels {
namespace {

// Before main(), when no thread can be inside BLAS.
[[maybe_unused]] const std::string& found_at_start = blas_kernels_found();

constexpr int64_t kTileMultiple = 16;  // tile edges fall between the register tiles of BLAS kernels
// Products that are added in order. BLAS adds those of gemm in blocks of a few hundred, but all in order up
// to kAddedInOrder multiplications, where the kernels for AVX-512 have no blocks (OpenBLAS,
// interface/gemm.c).
constexpr int64_t kLongSum = 1 << 15, kLongInOrder = 1 << 9;
constexpr double kAddedInOrder = 1e6;

/// Requires check_sizes().
int blas_int(int64_t size) { return static_cast<int>(size); }

CBLAS_TRANSPOSE cblas(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

// Plain dots add in PyTorch's order, so that lessons print the same digits: a single product in three
// interleaved sums (as MKL's plain kernel does), each product of a batch in one (as PyTorch's own loop does
// for these sizes).
constexpr int kSingleSums = 3, kBatchSums = 1;

/// One product: the arguments of gemm; or a bias to which it is added.
template <class T>
struct Product {
  bool ta, tb;
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T* c;
  int64_t ldc;
  bool add = false;
  const T* bias = nullptr;
  int sums = kSingleSums;  // of plain dots
  ProductCode code = ProductCode::gemm;
  int64_t diagonal = FloatProduct<T>::kWhole;  // see FloatProduct

  ProductTraits traits(ProductPlace place = ProductPlace::anywhere) const {
    return {.m = m, .n = n, .k = k, .a_transposed = ta, .b_transposed = tb, .place = place};
  }

  /// The rows or columns [begin, end) of c.
  Product part(bool by_rows, int64_t begin, int64_t end) const {
    Product part = *this;
    (by_rows ? part.m : part.n) = end - begin;
    part.c += begin * (by_rows ? ldc : 1);
    part.diagonal += by_rows ? begin : -begin;
    if (by_rows)
      part.a += begin * (ta ? 1 : lda);
    else
      part.b += begin * (tb ? ldb : 1);
    if (bias && !by_rows) part.bias += begin;
    return part;
  }
};

template <class T, class ForFloat, class ForDouble>
constexpr auto choose(ForFloat for_float, ForDouble for_double) {
  if constexpr (std::is_same_v<T, float>) return for_float;
  if constexpr (std::is_same_v<T, double>) return for_double;
}

/// Adds the product to c.
template <class T>
void call_gemm(const Product<T>& p) {
  constexpr auto gemm = choose<T>(cblas_sgemm, cblas_dgemm);
  gemm(CblasRowMajor, cblas(p.ta), cblas(p.tb), blas_int(p.m), blas_int(p.n), blas_int(p.k), T{1}, p.a,
       blas_int(p.lda), p.b, blas_int(p.ldb), T{1}, p.c, blas_int(p.ldc));
}

/// The same for a c of one row or one column. Products with rows of a matrix are summed in several lanes, so
/// they lose less.
template <class T>
void call_gemv(const Product<T>& p) {
  constexpr auto gemv = choose<T>(cblas_sgemv, cblas_dgemv);
  if (p.m == 1 && (p.n > 1 || p.ta))
    gemv(CblasRowMajor, cblas(!p.tb), blas_int(p.tb ? p.n : p.k), blas_int(p.tb ? p.k : p.n), T{1}, p.b,
         blas_int(p.ldb), p.a, blas_int(p.ta ? p.lda : 1), T{1}, p.c, 1);
  else
    gemv(CblasRowMajor, cblas(p.ta), blas_int(p.ta ? p.k : p.m), blas_int(p.ta ? p.m : p.k), T{1}, p.a,
         blas_int(p.lda), p.b, blas_int(p.tb ? 1 : p.ldb), T{1}, p.c, blas_int(p.ldc));
}

/// A matrix of one row may have any row distance; BLAS requires at least the row's length.
int64_t checked_ld(int64_t rows, int64_t columns, int64_t ld) {
  return rows == 1 ? std::max(ld, columns) : ld;
}

template <class T>
void multiply_plainly(const FloatProduct<T>& p, int sums) {
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      const T start = p.start ? p.start[i * p.start_row + j] : T{0};
      T sum[3] = {};
      for (int64_t l = 0; l < p.k; ++l)
        sum[l % sums] += p.a[i * p.a_row + l * p.a_k] * p.b[j * p.b_column + l * p.b_k];
      p.c[i * p.c_row + j] = start + (sum[0] + sum[1] + sum[2]);
    }
}

template <class T>
void multiply_without_blas(const Product<T>& p) {
  const FloatProduct<T> product{.m = p.m,
                                .n = p.n,
                                .k = p.k,
                                .a = p.a,
                                .a_row = p.ta ? 1 : p.lda,
                                .a_k = p.ta ? p.lda : 1,
                                .b = p.b,
                                .b_k = p.tb ? 1 : p.ldb,
                                .b_column = p.tb ? p.ldb : 1,
                                .start = p.add ? p.c : p.bias,
                                .start_row = p.add ? p.ldc : 0,
                                .c = p.c,
                                .c_row = p.ldc,
                                .diagonal = p.diagonal};
  p.code == ProductCode::plain_dots ? multiply_plainly(product, p.sums)
                                    : std::get<FloatKernels<T>>(fast_kernels().floats).multiply(product);
}

template <class T>
void multiply(Product<T> p);

/// Adds the halves of a long sum, because the error of a running sum grows with its length.
template <class T>
void multiply_halves(Product<T> first) {
  Product<T> second = first;
  first.k = ceil_div(first.k / 2, kTileMultiple) * kTileMultiple;
  second.k -= first.k;
  second.a += first.k * (first.ta ? first.lda : 1);
  second.b += first.k * (first.tb ? 1 : first.ldb);
  std::vector<T> sums(static_cast<size_t>(first.m * first.n));
  second.c = sums.data();
  second.ldc = first.n;
  second.add = false;
  second.bias = nullptr;
  multiply(first);
  multiply(second);
  for (int64_t i = 0; i < first.m; ++i)
    for (int64_t j = 0; j < first.n; ++j) first.c[i * first.ldc + j] += second.c[i * first.n + j];
}

template <class T>
void multiply(Product<T> p) {
  const double multiplications =
      static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const bool is_in_order =
      p.code == ProductCode::gemv || (p.code == ProductCode::gemm && multiplications <= kAddedInOrder);
  if (p.k > (is_in_order ? kLongInOrder : kLongSum)) return multiply_halves(p);
  if (p.code == ProductCode::plain_dots || p.code == ProductCode::multiply_floats)
    return multiply_without_blas(p);
  if (p.diagonal < p.n) {  // of whole blocks of rows
    for (int64_t row = 0; row < p.m; row += kGramBlock) {
      Product<T> block = p.part(true, row, std::min(p.m, row + kGramBlock));
      block.n = std::min(p.n, ceil_div(block.m + block.diagonal, kGramBlock) * kGramBlock);
      block.diagonal = FloatProduct<T>::kWhole;
      multiply(block);
    }
    return;
  }
  // BLAS writes the zeros of beta = 0 more slowly (a tenth at k = 128), and some gemv then read y.
  for (int64_t i = 0; !p.add && i < p.m; ++i)
    p.bias ? std::copy_n(p.bias, p.n, p.c + i * p.ldc) : std::fill_n(p.c + i * p.ldc, p.n, T{0});
  if (p.k == 0) return;
  p.lda = p.ta ? checked_ld(p.k, p.m, p.lda) : checked_ld(p.m, p.k, p.lda);
  p.ldb = p.tb ? checked_ld(p.n, p.k, p.ldb) : checked_ld(p.k, p.n, p.ldb);
  p.ldc = checked_ld(p.m, p.n, p.ldc);
  const BlasCall call;
  p.code == ProductCode::gemm ? call_gemm(p) : call_gemv(p);
}

template <class T>
void check_sizes(const Product<T>& p) {
  constexpr int64_t limit = std::numeric_limits<int>::max();
  if (std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc}) > limit)
    fail("gemm", "needs sizes and row distances up to ", limit, ", got (", p.m, ", ", p.k, ") @ (", p.k, ", ",
         p.n, ") with rows ", p.lda, ", ", p.ldb, " and ", p.ldc, " apart.");
}

/// Runs `batch` products of the same sizes; item(i) gives the i-th. The sizes of the whole product determine
/// the code of its tiles.
template <class T, class Item>
void run(int64_t batch, const Product<T>& sizes, ProductCode code, Item item) {
  if (batch == 0 || sizes.m == 0 || sizes.n == 0) return;
  check_sizes(sizes);
  const int64_t threads = thread_count();
  const int64_t most = batch >= kMaxTiles                     ? 1
                       : code != ProductCode::multiply_floats ? kMaxTiles
                       : threads == 1                         ? 1
                                                              : 2 * threads;
  const Tiling tiling(sizes.m, sizes.n, sizes.k, most, kTileMultiple);
  const int64_t work = sizes.m * sizes.n * sizes.k / tiling.count;
  std::optional<OneBlasThread> one;  // the calls of the tiles join it
  if (code == ProductCode::gemm || code == ProductCode::gemv) one.emplace();
  parallel_for(batch * tiling.count, grain_of(kSmallProduct, work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % tiling.count * tiling.length;
      Product<T> tile =
          item(i / tiling.count).part(tiling.by_rows, first, std::min(tiling.extent, first + tiling.length));
      tile.code = code;
      multiply(tile);
    }
  });
}

}  // namespace

template <class T>
void gemm(Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
          int64_t ldb, T* c, int64_t ldc, bool add) {
  const Product<T> product{ta == Trans::yes, tb == Trans::yes, m, n, k, a, lda, b, ldb, c, ldc, add};
  run(1, product, choose_product(product.traits()), [&](int64_t) { return product; });
}

template <class T>
void gemm_serial(Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                 int64_t ldb, T* c, int64_t ldc, bool add) {
  if (m == 0 || n == 0) return;
  Product<T> product{ta == Trans::yes, tb == Trans::yes, m, n, k, a, lda, b, ldb, c, ldc, add};
  product.code = choose_product(product.traits());
  check_sizes(product);
  multiply(product);
}

template <class T>
void gemm_batch(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, const int64_t* c_offset,
                Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                int64_t ldb, T* c, int64_t ldc) {
  Product<T> product{ta == Trans::yes, tb == Trans::yes, m, n, k, a, lda, b, ldb, c, ldc};
  product.sums = kBatchSums;
  run(batch, product, choose_product(product.traits()), [&](int64_t i) {
    Product<T> item = product;
    item.a += a_offset[i];
    item.b += b_offset[i];
    item.c += c_offset[i];
    return item;
  });
}

template <class T>
void gram(Trans trans, int64_t m, int64_t k, const T* a, int64_t lda, T* c) {
  const bool yes = trans == Trans::yes;
  Product<T> product{yes, !yes, m, m, k, a, lda, a, lda, c, m};
  product.diagonal = 0;
  run(1, product, choose_product(product.traits()), [&](int64_t) { return product; });
  mirror(m, c);
}

template <class T>
void mirror(int64_t m, T* c) {
  if (const auto by_blocks = std::get<FloatKernels<T>>(fast_kernels().floats).mirror) return by_blocks(m, c);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = (i / kGramBlock + 1) * kGramBlock; j < m; ++j) c[i * m + j] = c[j * m + i];
}

template <class T>
void linear(int64_t m, int64_t n, int64_t k, T* y, const T* x, int64_t ldx, const T* w, const T* bias) {
  Product<T> product{false, true, m, n, k, x, ldx, w, k, y, n};
  product.bias = bias;
  const ProductCode code = choose_product(product.traits(ProductPlace::linear));
  if (code == ProductCode::linear_few_rows) return linear_few_rows(m, n, k, y, x, ldx, w, bias);
  run(1, product, code, [&](int64_t) { return product; });
}

#define GRADUS_INSTANTIATE(T)                                                                              \
  template void gemm(Trans, Trans, int64_t, int64_t, int64_t, const T*, int64_t, const T*, int64_t, T*,    \
                     int64_t, bool);                                                                       \
  template void gemm_serial(Trans, Trans, int64_t, int64_t, int64_t, const T*, int64_t, const T*, int64_t, \
                            T*, int64_t, bool);                                                            \
  template void gemm_batch(int64_t, const int64_t*, const int64_t*, const int64_t*, Trans, Trans, int64_t, \
                           int64_t, int64_t, const T*, int64_t, const T*, int64_t, T*, int64_t);           \
  template void gram(Trans, int64_t, int64_t, const T*, int64_t, T*);                                      \
  template void mirror(int64_t, T*);                                                                       \
  template void linear(int64_t, int64_t, int64_t, T*, const T*, int64_t, const T*, const T*)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels

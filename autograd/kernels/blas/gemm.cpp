#include "gradus/autograd/kernels/blas/gemm.hpp"

#include <cblas.h>

#include <algorithm>
#include <limits>
#include <string>

#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/few_rows.hpp"
#include "gradus/autograd/kernels/blas/float_product.hpp"
#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/files/error.hpp"

// OpenBLAS starts threads; other BLAS libraries need not have this function: weak, null where it is
// missing.
extern "C" void openblas_set_num_threads(int threads) __attribute__((weak));

namespace gradus::kernels {
namespace {

// Runs before main(), when no thread can be inside BLAS.
[[maybe_unused]] const std::string& found_at_start = blas_kernels_found();

// Multiply-adds that one thread does sooner than it could share them.
constexpr int64_t kSmallProduct = int64_t{1} << 20;
// Every tile packs all of one operand again: from this length on that costs about 2 % of the product.
constexpr int64_t kTileLength = 256;
constexpr int64_t kMaxTiles = 16;
// Tile edges that fall between the register blocks of BLAS kernels.
constexpr int64_t kRegisterBlock = 16;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Checked against the limit before.
int blas_int(int64_t size) { return static_cast<int>(size); }

CBLAS_TRANSPOSE cblas(Trans trans) { return trans == Trans::yes ? CblasTrans : CblasNoTrans; }

// Plain dots add in the order of PyTorch, so that lessons print its digits on every machine: a single product
// adds in three chains side by side (as MKL's plain kernel was seen to do), each product of a batch in one
// (as PyTorch's own loop, which it uses below the same size).
constexpr int kSingleChains = 3, kBatchChains = 1;

/// One product as gemm's arguments describe it, and a bias that replaces beta * c.
template <class T>
struct Product {
  Trans ta, tb;
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T beta;
  T* c;
  int64_t ldc;
  const T* bias = nullptr;
  int chains = kSingleChains;  // of plain dots
  ProductCode code = ProductCode::gemm;

  ProductTraits traits(ProductPlace place = ProductPlace::anywhere) const {
    return {.m = m,
            .n = n,
            .k = k,
            .a_transposed = ta == Trans::yes,
            .b_transposed = tb == Trans::yes,
            .place = place};
  }

  Product rows(int64_t begin, int64_t end) const {
    Product part = *this;
    part.m = end - begin;
    part.a += begin * (ta == Trans::yes ? 1 : lda);
    part.c += begin * ldc;
    return part;
  }

  Product columns(int64_t begin, int64_t end) const {
    Product part = *this;
    part.n = end - begin;
    part.b += begin * (tb == Trans::yes ? ldb : 1);
    part.c += begin;
    if (bias) part.bias += begin;
    return part;
  }
};

/// How a product is cut along the longer side of c.
struct Tiling {
  bool by_rows;
  int64_t extent, length, count;

  /// `most` tiles at most, where their number is not part of the result.
  Tiling(int64_t batch, int64_t m, int64_t n, int64_t k, int64_t most)
      : by_rows(m >= n), extent(std::max(m, n)) {
    const bool whole = m * n * k < kSmallProduct || batch >= kMaxTiles;
    // An even number, so that two threads end together.
    const int64_t wanted =
        whole ? 1 : std::min(most, std::clamp<int64_t>(extent / (2 * kTileLength) * 2, 2, kMaxTiles));
    length = ceil_div(ceil_div(extent, wanted), kRegisterBlock) * kRegisterBlock;
    count = ceil_div(extent, length);
  }

  template <class T>
  Product<T> tile(const Product<T>& product, int64_t index) const {
    const int64_t begin = index * length, end = std::min(extent, begin + length);
    return by_rows ? product.rows(begin, end) : product.columns(begin, end);
  }
};

void call_gemm(const Product<float>& p) {
  cblas_sgemm(CblasRowMajor, cblas(p.ta), cblas(p.tb), blas_int(p.m), blas_int(p.n), blas_int(p.k), p.alpha,
              p.a, blas_int(p.lda), p.b, blas_int(p.ldb), p.beta, p.c, blas_int(p.ldc));
}

void call_gemm(const Product<double>& p) {
  cblas_dgemm(CblasRowMajor, cblas(p.ta), cblas(p.tb), blas_int(p.m), blas_int(p.n), blas_int(p.k), p.alpha,
              p.a, blas_int(p.lda), p.b, blas_int(p.ldb), p.beta, p.c, blas_int(p.ldc));
}

/// y = alpha * op(a) @ x + beta * y for a stored matrix a of (rows, columns).
struct MatrixVector {
  Trans trans;
  int64_t rows, columns;
};

void call_gemv(MatrixVector s, float alpha, const float* a, int64_t lda, const float* x, int64_t incx,
               float beta, float* y, int64_t incy) {
  cblas_sgemv(CblasRowMajor, cblas(s.trans), blas_int(s.rows), blas_int(s.columns), alpha, a, blas_int(lda),
              x, blas_int(incx), beta, y, blas_int(incy));
}

void call_gemv(MatrixVector s, double alpha, const double* a, int64_t lda, const double* x, int64_t incx,
               double beta, double* y, int64_t incy) {
  cblas_dgemv(CblasRowMajor, cblas(s.trans), blas_int(s.rows), blas_int(s.columns), alpha, a, blas_int(lda),
              x, blas_int(incx), beta, y, blas_int(incy));
}

template <class T>
void scale(const Product<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    T* row = p.c + i * p.ldc;
    if (p.beta == T{0}) {
      std::fill_n(row, p.n, T{0});  // not a product: the old value may be NaN
    } else {
      std::transform(row, row + p.n, row, [&](T value) { return p.beta * value; });
    }
  }
}

/// A matrix of one row may come with any row distance; BLAS insists on one that is not shorter than the row.
int64_t checked_ld(int64_t rows, int64_t columns, int64_t ld) {
  return rows == 1 ? std::max(ld, columns) : ld;
}

/// No multiplication is fused with its addition.
template <class T>
void multiply_plainly(const Product<T>& p) {
  const int64_t a_row = p.ta == Trans::yes ? 1 : p.lda, a_k = p.ta == Trans::yes ? p.lda : 1;
  const int64_t b_k = p.tb == Trans::yes ? 1 : p.ldb, b_column = p.tb == Trans::yes ? p.ldb : 1;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T& c = p.c[i * p.ldc + j];
      const T start = p.bias ? p.bias[j] : p.beta == T{0} ? T{0} : p.beta * c;
      T sum[3] = {};
      for (int64_t l = 0; l < p.k; ++l)
        sum[l % p.chains] += p.a[i * a_row + l * a_k] * p.b[j * b_column + l * b_k];
      c = start + p.alpha * (sum[0] + sum[1] + sum[2]);
    }
}

/// The arguments of multiply_floats().
template <class T>
FloatProduct<T> without_blas(const Product<T>& p) {
  const bool ta = p.ta == Trans::yes, tb = p.tb == Trans::yes, keeps = !p.bias && p.beta != T{0};
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .alpha = p.alpha,
          .a = p.a,
          .a_row = ta ? 1 : p.lda,
          .a_k = ta ? p.lda : 1,
          .b = p.b,
          .b_k = tb ? 1 : p.ldb,
          .b_column = tb ? p.ldb : 1,
          .start = keeps ? p.c : p.bias,
          .start_row = keeps ? p.ldc : 0,
          .c = p.c,
          .c_row = p.ldc};
}

template <class T>
void multiply(Product<T> p) {
  if (p.code == ProductCode::plain_dots) return multiply_plainly(p);
  if (p.code == ProductCode::multiply_floats) {
    if (!p.bias && p.beta != T{0} && p.beta != T{1}) scale(p);
    return multiply_floats(without_blas(p));
  }
  if (p.bias) {
    for (int64_t i = 0; i < p.m; ++i) std::copy_n(p.bias, p.n, p.c + i * p.ldc);
    p.beta = T{1};
  }
  if (p.k == 0) return scale(p);
  const bool ta = p.ta == Trans::yes, tb = p.tb == Trans::yes;
  p.lda = ta ? checked_ld(p.k, p.m, p.lda) : checked_ld(p.m, p.k, p.lda);
  p.ldb = tb ? checked_ld(p.n, p.k, p.ldb) : checked_ld(p.k, p.n, p.ldb);
  p.ldc = checked_ld(p.m, p.n, p.ldc);
  // BLAS would make its zeros for beta = 0 more slowly, a tenth of a product with k = 128; and for gemv it is
  // not agreed on whether y is read then.
  if (p.beta == T{0}) {
    scale(p);
    p.beta = T{1};
  }
  const BlasCall call;
  if (p.code == ProductCode::gemm) return call_gemm(p);
  if (p.m == 1) {
    const MatrixVector b = tb ? MatrixVector{Trans::no, p.n, p.k} : MatrixVector{Trans::yes, p.k, p.n};
    call_gemv(b, p.alpha, p.b, p.ldb, p.a, ta ? p.lda : 1, p.beta, p.c, 1);
  } else {
    const MatrixVector a = ta ? MatrixVector{p.ta, p.k, p.m} : MatrixVector{p.ta, p.m, p.k};
    call_gemv(a, p.alpha, p.a, p.lda, p.b, tb ? 1 : p.ldb, p.beta, p.c, p.ldc);
  }
}

/// The OpenMP flavour of OpenBLAS keeps the number for each thread that calls it.
void use_one_blas_thread() {
  if (!openblas_set_num_threads) return;
  [[maybe_unused]] static thread_local const bool once = (openblas_set_num_threads(1), true);
}

template <class T>
void check_sizes(const Product<T>& p) {
  constexpr int64_t limit = std::numeric_limits<int>::max();
  if (std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc}) > limit)
    fail("gemm", "needs sizes and row distances up to ", limit, ", got (", p.m, ", ", p.k, ") @ (", p.k, ", ",
         p.n, ") with rows ", p.lda, ", ", p.ldb, " and ", p.ldc, " apart.");
}

/// Runs `batch` products of the same sizes; item(i) gives the i-th. A tile is made by the code that suits the
/// whole product.
template <class T, class Item>
void run(int64_t batch, const Product<T>& sizes, ProductCode code, Item item) {
  if (batch == 0 || sizes.m == 0 || sizes.n == 0) return;
  check_sizes(sizes);
  const int64_t threads = thread_count();
  const bool by_blas = code != ProductCode::multiply_floats;
  const Tiling tiling(batch, sizes.m, sizes.n, sizes.k, by_blas ? kMaxTiles : threads == 1 ? 1 : 2 * threads);
  const int64_t work = std::max<int64_t>(1, sizes.m * sizes.n * sizes.k / tiling.count);
  parallel_for(batch * tiling.count, std::max<int64_t>(1, kSmallProduct / work),
               [&](int64_t begin, int64_t end) {
                 use_one_blas_thread();
                 for (int64_t i = begin; i < end; ++i) {
                   Product<T> tile = tiling.tile(item(i / tiling.count), i % tiling.count);
                   tile.code = code;
                   multiply(tile);
                 }
               });
}

}  // namespace

template <class T>
void gemm(Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
          int64_t ldb, T beta, T* c, int64_t ldc) {
  const Product<T> product{ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  run(1, product, choose_product(product.traits()), [&](int64_t) { return product; });
}

template <class T>
void gemm_serial(Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
                 const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  Product<T> product{ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  product.code = choose_product(product.traits());
  check_sizes(product);
  use_one_blas_thread();
  multiply(product);
}

template <class T>
void gemm_batch(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, const int64_t* c_offset,
                Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
                const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  const Product<T> product{ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, nullptr, kBatchChains};
  run(batch, product, choose_product(product.traits()), [&](int64_t i) {
    Product<T> item = product;
    item.a += a_offset[i];
    item.b += b_offset[i];
    item.c += c_offset[i];
    return item;
  });
}

template <class T>
void linear(int64_t m, int64_t n, int64_t k, T* y, const T* x, int64_t ldx, const T* w, const T* bias) {
  const Product<T> product{Trans::no, Trans::yes, m, n, k, T{1}, x, ldx, w, k, T{0}, y, n, bias};
  const ProductCode code = choose_product(product.traits(ProductPlace::linear));
  if (code == ProductCode::linear_few_rows) return linear_few_rows(m, n, k, y, x, ldx, w, bias);
  run(1, product, code, [&](int64_t) { return product; });
}

#define GRADUS_INSTANTIATE(T)                                                                              \
  template void gemm(Trans, Trans, int64_t, int64_t, int64_t, T, const T*, int64_t, const T*, int64_t, T,  \
                     T*, int64_t);                                                                         \
  template void gemm_serial(Trans, Trans, int64_t, int64_t, int64_t, T, const T*, int64_t, const T*,       \
                            int64_t, T, T*, int64_t);                                                      \
  template void gemm_batch(int64_t, const int64_t*, const int64_t*, const int64_t*, Trans, Trans, int64_t, \
                           int64_t, int64_t, T, const T*, int64_t, const T*, int64_t, T, T*, int64_t);     \
  template void linear(int64_t, int64_t, int64_t, T*, const T*, int64_t, const T*, const T*)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels

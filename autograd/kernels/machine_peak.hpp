// The speed of the machine without gradus: products by BLAS and its threads, and reading memory. `gradus
// bench` sets steps against it.
//
// Pointers belong to the caller. Not thread-safe; while blas_product runs, no other thread may call BLAS.
#pragma once

#include <cstdint>
#include <string>

#include "gradus/autograd/kernels/blas/gemm.hpp"

namespace gradus::kernels {

/// `batch` float32 products of one size, packed and one after another in memory: c (m, n) = op(a) (m, k) @
/// op(b) (k, n).
struct BlasProduct {
  Trans ta = Trans::no, tb = Trans::no;
  int64_t m = 0, n = 0, k = 0, batch = 1;
};

enum class BlasThreads {
  inside_product,  ///< one product after another, each by BLAS's own threads
  over_batch       ///< each thread takes whole products
};

/// Makes the products with thread_count() threads, uncut, by nothing but BLAS; afterwards BLAS has one thread
/// again, as gemm() wants it. Throws Error when a size does not fit BLAS's 32-bit integers.
void blas_product(const BlasProduct& product, BlasThreads threads, const float* a, const float* b, float* c);

/// "OpenBLAS 0.3.21, Cooperlake kernels", or "BLAS" if it does not say.
std::string blas_name();

template <class T>
struct MultiplyAddLoops {
  int64_t (*multiply_adds)(int64_t rounds, T* half);  // on one thread; overwrites what must be 0.5
};

/// Multiplications and additions of float32 numbers a second, both counted, that thread_count() threads can
/// do at the best level that the machine can run: the most in ten bursts of a millisecond or so.
double multiply_add_rate();

/// The same of products in bfloat16, by the kernel of the unit in use on operands in the first cache.
double bf16_rate();

/// Reads n floats with thread_count() threads, as fast as plain loads can: one from each line of the cache.
/// The result is of no use, but keeps the compiler from leaving the reading out.
uint64_t read_all(int64_t n, const float* x);

}  // namespace gradus::kernels

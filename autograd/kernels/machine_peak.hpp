// The speed of the machine without gradus, for the comparison of `gradus bench`: products by BLAS and its
// threads, and reading memory. Not thread-safe; while blas_product runs, no other thread may call BLAS.
#pragma once

#include <cstdint>
#include <string>

#include "gradus/autograd/kernels/blas/gemm.hpp"

namespace gradus::kernels {

/// `batch` float32 products of one size, contiguous: c (m, n) = op(a) (m, k) @ op(b) (k, n).
struct BlasProduct {
  Trans ta = Trans::no, tb = Trans::no;
  int64_t m = 0, n = 0, k = 0, batch = 1;
};

enum class BlasThreads {
  inside_product,  ///< one product after another, each by BLAS's own threads
  over_batch       ///< each thread takes whole products
};

/// Computes the products with thread_count() threads and whole calls of BLAS, which has as many threads
/// afterwards as before. Throws Error if a size does not fit BLAS's 32-bit integers.
void blas_product(const BlasProduct& product, BlasThreads threads, const float* a, const float* b, float* c);

/// "OpenBLAS 0.3.21, Cooperlake kernels", or "BLAS" if unknown.
std::string blas_name();

template <class T>
struct MultiplyAddLoops {
  int64_t (*multiply_adds)(int64_t rounds, T* half);  // on one thread; *half must be 0.5 and is overwritten
};

/// The time to measure a peak: at first the system may run several threads on one core.
inline constexpr double kPeakSeconds = 0.3;

/// Multiplications and additions of float32 numbers per second, both counted, by thread_count() threads at
/// the best level of the machine: the most in bursts of about a millisecond, which take `seconds` together.
double multiply_add_rate(double seconds);

/// The same in bfloat16, by the kernel in use, on operands in the first-level cache; 0 without `fast`.
double bf16_rate(double seconds);

/// Reads n floats with thread_count() threads by plain loads, one from each cache line. Returns a sum, so
/// that the compiler keeps the loads.
uint64_t read_all(int64_t n, const float* x);

}  // namespace gradus::kernels

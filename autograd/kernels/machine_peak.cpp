#include "gradus/autograd/kernels/machine_peak.hpp"

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <limits>

#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/aligned_buffer.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/files/error.hpp"

// Functions of OpenBLAS; weak: null with another BLAS.
extern "C" {
int openblas_get_num_threads(void) __attribute__((weak));
void openblas_set_num_threads(int threads) __attribute__((weak));
char* openblas_get_config(void) __attribute__((weak));
}

namespace gradus::kernels {
namespace {

void multiply(const BlasProduct& p, int64_t begin, int64_t end, const float* a, const float* b, float* c) {
  const bool ta = p.ta == Trans::yes, tb = p.tb == Trans::yes;
  const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  for (int64_t i = begin; i < end; ++i)
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1.0f,
                a + i * p.m * p.k, ta ? m : k, b + i * p.k * p.n, tb ? k : n, 0.0f, c + i * p.m * p.n, n);
}

/// The most operations per second in bursts of work() on each thread; work() returns their number.
template <class F>
double best_rate(double seconds, const F& work) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    std::atomic<int64_t> operations{0};
    const auto begin = Clock::now();
    parallel_for(thread_count(), 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) operations += work();
    });
    const std::chrono::duration<double> burst = Clock::now() - begin;
    best = std::max(best, static_cast<double>(operations) / burst.count());
  } while (Clock::now() < end);
  return best;
}

}  // namespace

void blas_product(const BlasProduct& p, BlasThreads threads, const float* a, const float* b, float* c) {
  if (std::max({p.m, p.n, p.k}) > std::numeric_limits<int>::max())
    fail("blas_product", "needs sizes up to ", std::numeric_limits<int>::max(), ", got (", p.m, ", ", p.k,
         ") @ (", p.k, ", ", p.n, ").");
  if (threads == BlasThreads::inside_product) {
    if (!openblas_set_num_threads || !openblas_get_num_threads) return multiply(p, 0, p.batch, a, b, c);
    const int before = openblas_get_num_threads();
    openblas_set_num_threads(thread_count());
    multiply(p, 0, p.batch, a, b, c);
    return openblas_set_num_threads(before);
  }
  parallel_for(p.batch, ceil_div(p.batch, thread_count()), [&](int64_t begin, int64_t end) {
    const BlasCall call;
    multiply(p, begin, end, a, b, c);
  });
}

std::string blas_name() {
  if (!openblas_get_config) return "BLAS";
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_AFFINITY ..."
  const size_t end = config.find(' ', config.find(' ') + 1);
  return concat(config.substr(0, end), ", ", blas_kernels(), " kernels");
}

double multiply_add_rate(double seconds) {
  constexpr int kRounds = 1 << 16;
  const MultiplyAddLoops<float>& loops = loops_at<MultiplyAddLoops<float>>(available_isas().front());
  return best_rate(seconds, [&] {
    float half = 0.5F;
    return loops.multiply_adds(kRounds, &half);
  });
}

double bf16_rate(double seconds) {
  const auto burst = fast_kernels().bf16_burst;
  return burst ? best_rate(seconds, burst) : 0;
}

uint64_t read_all(int64_t n, const float* x) {
  constexpr int64_t kLine = kCacheLine / sizeof(float);  // reading one number loads its line
  constexpr int64_t kStreams = 4;                        // are faster than one
  std::atomic<uint64_t> sum{0};
  parallel_for(n, ceil_div(n, thread_count()), [&](int64_t begin, int64_t end) {
    const int64_t length = (end - begin) / kStreams;
    uint64_t sums[kStreams] = {};
    for (int64_t at = 0; at < length; at += kLine)
      for (int64_t stream = 0; stream < kStreams; ++stream)
        sums[stream] += std::bit_cast<uint32_t>(x[begin + stream * length + at]);
    for (const uint64_t s : sums) sum += s;
  });
  return sum;
}

}  // namespace gradus::kernels

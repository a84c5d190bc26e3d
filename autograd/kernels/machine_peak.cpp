#include "gradus/autograd/kernels/machine_peak.hpp"

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <vector>

#include "gradus/autograd/kernels/bf16/bf16_kernel.hpp"
#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"
#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/files/error.hpp"

// Of OpenBLAS; weak, null where another BLAS is in its place.
extern "C" {
void openblas_set_num_threads(int threads) __attribute__((weak));
char* openblas_get_config(void) __attribute__((weak));
}

namespace gradus::kernels {
namespace {

void set_blas_threads(int threads) {
  if (openblas_set_num_threads) openblas_set_num_threads(threads);
}

/// While it lives, BLAS uses this number of threads.
class BlasThreadsGuard {
 public:
  explicit BlasThreadsGuard(int threads) { set_blas_threads(threads); }
  ~BlasThreadsGuard() { set_blas_threads(1); }
  BlasThreadsGuard(const BlasThreadsGuard&) = delete;
  BlasThreadsGuard& operator=(const BlasThreadsGuard&) = delete;
};

void multiply(const BlasProduct& p, int64_t begin, int64_t end, const float* a, const float* b, float* c) {
  const bool ta = p.ta == Trans::yes, tb = p.tb == Trans::yes;
  for (int64_t i = begin; i < end; ++i)
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), 1.0f, a + i * p.m * p.k,
                static_cast<int>(ta ? p.m : p.k), b + i * p.k * p.n, static_cast<int>(tb ? p.k : p.n), 0.0f,
                c + i * p.m * p.n, static_cast<int>(p.n));
}

/// Operations a second, the most in ten bursts of work() on each of thread_count() threads, which returns how
/// many it made.
template <class F>
double best_rate(const F& work) {
  constexpr int kBursts = 10;
  double best = 0;
  for (int burst = 0; burst < kBursts; ++burst) {
    std::atomic<int64_t> operations{0};
    const auto begin = std::chrono::steady_clock::now();
    parallel_for(thread_count(), 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) operations += work();
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(operations) / seconds.count());
  }
  return best;
}

AlignedBuffer zeros(int64_t bytes) {
  AlignedBuffer lines = allocate_aligned(bytes);
  std::memset(lines.get(), 0, static_cast<size_t>(bytes));
  return lines;
}

}  // namespace

void blas_product(const BlasProduct& p, BlasThreads threads, const float* a, const float* b, float* c) {
  if (std::max({p.m, p.n, p.k}) > std::numeric_limits<int>::max())
    fail("blas_product", "needs sizes up to ", std::numeric_limits<int>::max(), ", got (", p.m, ", ", p.k,
         ") @ (", p.k, ", ", p.n, ").");
  if (threads == BlasThreads::inside_product) {
    const BlasThreadsGuard guard(thread_count());
    return multiply(p, 0, p.batch, a, b, c);
  }
  const int64_t share = (p.batch + thread_count() - 1) / thread_count();
  parallel_for(p.batch, share, [&](int64_t begin, int64_t end) {
    set_blas_threads(1);
    multiply(p, begin, end, a, b, c);
  });
}

std::string blas_name() {
  if (!openblas_get_config) return "BLAS";
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_AFFINITY ..."
  const size_t end = config.find(' ', config.find(' ') + 1);
  return concat(config.substr(0, end), ", ", blas_kernels(), " kernels");
}

double multiply_add_rate() {
  constexpr int kRounds = 1 << 16;
  const MultiplyAddLoops<float>& loops = loops_at<MultiplyAddLoops<float>>(available_isas().front());
  return best_rate([&] {
    float half = 0.5F;
    return loops.multiply_adds(kRounds, &half);
  });
}

double bf16_rate() {
  constexpr int kRounds = 1 << 9;
  const Bf16Kernel& kernel = bf16_kernel(isa_in_use(IsaFor::bf16));
  const int64_t tile = kTileElements * static_cast<int64_t>(kernel.widen ? sizeof(float) : sizeof(bfloat16));
  const int64_t strip = kernel.depth * tile, rows = kernel.rows * kStrip, columns = kernel.columns * kStrip;
  return best_rate([&] {
    const AlignedBuffer left = zeros(kernel.rows * strip), right = zeros(kernel.columns * strip);
    const AlignedBuffer out = zeros(rows * columns * static_cast<int64_t>(sizeof(float)));
    auto* const c = static_cast<float*>(out.get());
    const Bf16Block block{.left = left.get(),
                          .left_step = strip,
                          .right = right.get(),
                          .right_step = strip,
                          .rows = kernel.rows,
                          .columns = kernel.columns,
                          .depth = kernel.depth,
                          .start = c,
                          .start_step = columns,
                          .out = c,
                          .out_step = columns};
    if (kernel.begin) kernel.begin();
    for (int round = 0; round < kRounds; ++round) kernel.multiply(block);
    if (kernel.end) kernel.end();
    return kRounds * 2 * rows * columns * kernel.depth * kTileDepth;
  });
}

uint64_t read_all(int64_t n, const float* x) {
  constexpr int64_t kLine = 64 / sizeof(float);  // a number of each brings all of it
  constexpr int64_t kPlaces = 4;                 // are read faster than one
  const int64_t share = (n + thread_count() - 1) / thread_count();
  std::vector<uint64_t> sums(static_cast<size_t>(thread_count()));
  parallel_for(n, share, [&](int64_t begin, int64_t end) {
    const int64_t length = (end - begin) / kPlaces;
    uint64_t place_sums[kPlaces] = {};
    for (int64_t at = 0; at < length; at += kLine)
      for (int64_t place = 0; place < kPlaces; ++place)
        place_sums[place] += std::bit_cast<uint32_t>(x[begin + place * length + at]);
    for (const uint64_t s : place_sums) sums[static_cast<size_t>(begin / share)] += s;
  });
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum += s;
  return sum;
}

}  // namespace gradus::kernels

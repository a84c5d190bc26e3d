#include "gradus/autograd/kernels/threads/parallel.hpp"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus {
namespace kernels {
namespace {

// An idle thread spins this often before it sleeps: about 50 microseconds, the time of waking it.
constexpr int kSpins = 2000;

// Chunks that take less time, on average, are left to the thread whose core may have their data.
constexpr std::chrono::microseconds kShortChunk{10};

thread_local bool inside_body = false;

int cores_by_affinity() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return static_cast<int>(std::thread::hardware_concurrency());
  std::set<std::string> cores;  // each identified by its hardware threads, "0,8"
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::string siblings = std::to_string(cpu);
    std::ifstream topology("/sys/devices/system/cpu/cpu" + siblings + "/topology/thread_siblings_list");
    std::getline(topology, siblings);
    cores.insert(siblings.empty() ? std::to_string(cpu) : siblings);
  }
  return static_cast<int>(cores.size());
}

/// The CPU quota of the container in cores, rounded up; a large number if there is no limit.
int cores_by_quota() {
  std::ifstream limit("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(limit >> quota >> period) || quota <= 0 || period <= 0) return CPU_SETSIZE;
  return static_cast<int>(std::min<double>((quota + period - 1) / period, CPU_SETSIZE));
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

struct Job {
  int64_t n = 0, grain = 1, chunks = 0;
  ChunkBody body = nullptr;
  void* context = nullptr;
  void run(int64_t chunk) const { body(context, chunk * grain, std::min(n, (chunk + 1) * grain)); }
};

/// The consecutive chunks of a job that one thread takes before it helps others.
struct alignas(64) Share {
  std::atomic<int64_t> left{0};
  int64_t end = 0;            // the next chunk is end - left
  std::atomic<int> begun{0};  // the epoch of the job that its thread has begun
};

/// The job lives in the pool, not on the caller's stack: a worker that wakes late finds nothing left in the
/// shares, or chunks of a later job, which it may take. A thread that lowers `left` has a chunk of `job_`,
/// because the owner replaces the job only when `unfinished_` is 0.
class Pool {
 public:
  int threads() const { return threads_.load(std::memory_order_relaxed); }

  void resize(int threads) {
    const std::lock_guard lock(owner_);
    if (threads == this->threads()) return;
    stop_workers();
    threads_.store(threads, std::memory_order_relaxed);
  }

  void run(const Job& job) {
    std::unique_lock owner(owner_, std::defer_lock);
    if (threads() == 1 || inside_body || !owner.try_lock()) {
      for (int64_t chunk = 0; chunk < job.chunks; ++chunk) job.run(chunk);
      return;
    }
    start_workers();
    job_ = job;
    error_ = nullptr;
    failed_.store(false, std::memory_order_relaxed);
    unfinished_.store(job.chunks, std::memory_order_relaxed);
    int64_t begin = 0;
    for (size_t i = 0; i < shares_.size(); ++i) {
      const int64_t end = job.chunks * static_cast<int64_t>(i + 1) / static_cast<int64_t>(shares_.size());
      shares_[i].end = end;
      shares_[i].left.store(end - begin, std::memory_order_release);
      begin = end;
    }
    const int epoch = epoch_.fetch_add(1, std::memory_order_release) + 1;
    int64_t count = std::min<int64_t>(job.chunks - 1, static_cast<int64_t>(workers_.size()));
    for (; count > 0; --count) epoch_.notify_one();
    inside_body = true;
    finish(claim_and_run(0, epoch));
    inside_body = false;
    await_workers();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  /// Runs the chunks of this thread's share and then of the others; returns how many. If chunks are short, it
  /// leaves the last ones to a thread that has begun.
  int64_t claim_and_run(size_t own, int epoch) {
    const auto begin = std::chrono::steady_clock::now();
    shares_[own].begun.store(epoch, std::memory_order_relaxed);
    int64_t claimed = claim_and_run(shares_[own], 0);
    const bool are_short = std::chrono::steady_clock::now() - begin < claimed * kShortChunk;
    const int64_t last = are_short ? 1 + claimed / 4 : 0;
    for (size_t i = 1; i < shares_.size(); ++i) {
      Share& share = shares_[(own + i) % shares_.size()];
      const bool has_begun = share.begun.load(std::memory_order_relaxed) == epoch;
      claimed += claim_and_run(share, has_begun ? last : 0);
    }
    return claimed;
  }

  /// Runs chunks of a share while more than `kept` are left.
  int64_t claim_and_run(Share& share, int64_t kept) {
    int64_t claimed = 0, left = share.left.load(std::memory_order_relaxed);
    while (left > kept) {
      if (!share.left.compare_exchange_weak(left, left - 1, std::memory_order_acquire,
                                            std::memory_order_relaxed))
        continue;
      ++claimed;
      run_claimed(share.end - left);
      left = share.left.load(std::memory_order_relaxed);
    }
    return claimed;
  }

  void run_claimed(int64_t chunk) {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      job_.run(chunk);
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }

  void finish(int64_t claimed) {
    if (claimed > 0 && unfinished_.fetch_sub(claimed, std::memory_order_acq_rel) == claimed)
      unfinished_.notify_one();
  }

  void await_workers() {
    for (int spin = 0; spin < kSpins && unfinished_.load(std::memory_order_acquire) != 0; ++spin) pause();
    // Sleeps, so that a worker whose core another process took can use this one.
    while (const int64_t unfinished = unfinished_.load(std::memory_order_acquire))
      unfinished_.wait(unfinished);
  }

  void work(size_t share) {
    inside_body = true;
    for (;;) {
      const int epoch = epoch_.load(std::memory_order_acquire);
      if (stopping_.load(std::memory_order_relaxed)) return;
      finish(claim_and_run(share, epoch));
      for (int spin = 0; spin < kSpins && epoch_.load(std::memory_order_relaxed) == epoch; ++spin) pause();
      epoch_.wait(epoch);
    }
  }

  void start_workers() {
    if (!workers_.empty()) return;
    const auto count = static_cast<size_t>(threads());
    shares_ = std::vector<Share>(count);
    try {
      for (size_t i = 1; i < count; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
      // The system grants no more threads; the existing ones and the caller do all the work.
    }
  }

  void stop_workers() {
    stopping_.store(true, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    stopping_.store(false, std::memory_order_relaxed);
  }

  std::mutex owner_;  // held by the thread that uses the pool; guards job_, error_ and workers_
  std::vector<std::thread> workers_;
  std::vector<Share> shares_;  // of the caller, then of the workers
  Job job_;
  std::exception_ptr error_;
  std::atomic<int> threads_{available_cores()};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  alignas(64) std::atomic<int> epoch_{0};  // counts jobs; idle workers watch it
  alignas(64) std::atomic<int64_t> unfinished_{0};
};

/// Never destroyed, because threads may still compute when main() returns.
Pool& pool() {
  static Pool& pool = *new Pool;
  return pool;
}

}  // namespace

void run_chunks(int64_t n, int64_t grain, ChunkBody body, void* context) {
  pool().run({n, grain, ceil_div(n, grain), body, context});
}

int available_cores() { return std::max(1, std::min(cores_by_affinity(), cores_by_quota())); }

int thread_count() { return pool().threads(); }

void set_thread_count(int n) {
  if (n < 1) fail("set_num_threads", "needs at least 1 thread, got ", n, ".");
  if (inside_body)
    fail("set_num_threads", "cannot change the threads from inside a parallel_for, got ", n, ".");
  pool().resize(n);
}

}  // namespace kernels
}  // namespace gradus

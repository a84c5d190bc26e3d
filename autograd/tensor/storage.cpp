#include "gradus/autograd/tensor/storage.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kSpare = int64_t{256} << 20;  // bytes that the cache may add to the most that was in use

// Four classes per octave (64, 80, 96, 112, 128, 160, ...), so that at most a fifth of a block is unused.
int size_class(int64_t bytes) {
  const auto units = static_cast<uint64_t>((bytes + kAlignment / 4 - 1) / (kAlignment / 4));
  if (units <= 4) return 0;
  const int octave = static_cast<int>(std::bit_width(units - 1)) - 3;
  return 4 * octave + static_cast<int>(((units - 1) >> octave) - 3);
}

int64_t class_bytes(int c) { return (int64_t{4 + (c % 4)} << (c / 4)) * (kAlignment / 4); }

std::byte* system_allocate(int64_t bytes) {
  const bool large = bytes >= kHugePage;
  const int64_t alignment = large ? kHugePage : kAlignment;
  void* p = std::aligned_alloc(static_cast<size_t>(alignment),
                               static_cast<size_t>((bytes + alignment - 1) / alignment * alignment));
  if (p && large) madvise(p, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return static_cast<std::byte*>(p);
}

}  // namespace

// The blocks of one thread, which other threads may free. It lives until the thread has ended and the last of
// its blocks is free.
class autograd::BlockCache {
 public:
  std::byte* take(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const int c = size_class(bytes);
    std::vector<std::byte*>& list = free_[static_cast<size_t>(c)];
    std::byte* p = nullptr;
    const int64_t size = class_bytes(c);
    if (!list.empty()) {
      p = list.back();
      list.pop_back();
      cached_ -= size;
    } else {
      if (used_ + cached_ + size > std::max(most_used_, used_ + size) + kSpare) free_all();
      if (p = system_allocate(size); !p) {
        free_all();
        p = system_allocate(size);
      }
    }
    if (!p) throw RunError("[storage] no memory for a tensor of ", bytes, " bytes.");
    most_used_ = std::max(most_used_, used_ += size);
    ++use_.blocks;
    use_.bytes += bytes;
    use_.peak = std::max(use_.peak, use_.bytes);
    return p;
  }

  void give(std::byte* p, int64_t bytes) {
    std::unique_lock lock(mutex_);
    const int c = size_class(bytes);
    free_[static_cast<size_t>(c)].push_back(p);
    used_ -= class_bytes(c);
    cached_ += class_bytes(c);
    use_.bytes -= bytes;
    --use_.blocks;
    if (has_ended_) end(std::move(lock));
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    free_all();
  }
  MemoryUse use() {
    const std::lock_guard lock(mutex_);
    return use_;
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    use_.peak = use_.bytes;
  }

  /// This thread's; null after its end: tensors in static objects outlive it.
  static BlockCache* of_thread() {
    if (!mine_ && !is_over_) {
      thread_local const End end;
      mine_ = new BlockCache;
    }
    return mine_;
  }

 private:
  struct End {
    ~End() {
      is_over_ = true;
      if (BlockCache* const cache = std::exchange(mine_, nullptr))
        cache->end(std::unique_lock(cache->mutex_));
    }
  };

  void end(std::unique_lock<std::mutex> lock) {
    has_ended_ = true;
    free_all();
    if (use_.blocks > 0) return;
    lock.unlock();
    delete this;
  }

  void free_all() {
    for (std::vector<std::byte*>& list : free_) {
      for (std::byte* p : list) std::free(p);
      list.clear();
    }
    cached_ = 0;
  }

  static constinit thread_local BlockCache* mine_;
  static constinit thread_local bool is_over_;

  std::mutex mutex_;  // of all that follows
  MemoryUse use_;
  std::array<std::vector<std::byte*>, 240> free_;
  int64_t used_ = 0, most_used_ = 0, cached_ = 0;  // bytes of blocks
  bool has_ended_ = false;
};

constinit thread_local autograd::BlockCache* autograd::BlockCache::mine_ = nullptr;
constinit thread_local bool autograd::BlockCache::is_over_ = false;

autograd::Storage::Storage(int64_t bytes) : cache_(BlockCache::of_thread()), bytes_(bytes) {
  data_ = cache_ ? cache_->take(bytes) : system_allocate(class_bytes(size_class(bytes)));
}

autograd::Storage::Storage(std::byte* data, int64_t bytes, std::function<void()> release)
    : cache_(nullptr),
      data_(data),
      bytes_(bytes),
      release_(std::make_unique<std::function<void()>>(std::move(release))) {}

autograd::Storage::~Storage() {
  delete packed_cache_.load(std::memory_order_relaxed);
  if (release_)
    (*release_)();
  else if (!cache_)
    std::free(data_);
  else
    cache_->give(data_, bytes_);
}

MemoryUse memory_use() {
  autograd::BlockCache* const cache = autograd::BlockCache::of_thread();
  return cache ? cache->use() : MemoryUse();
}

void reset_peak_memory() {
  if (autograd::BlockCache* const cache = autograd::BlockCache::of_thread()) cache->reset_peak();
}

void release_cached_memory() {
  if (autograd::BlockCache* const cache = autograd::BlockCache::of_thread()) cache->clear();
}

}  // namespace gradus

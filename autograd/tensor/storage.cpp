#include "gradus/autograd/tensor/storage.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
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

class BlockCache {
 public:
  ~BlockCache() {
    clear();
    alive() = false;
  }

  std::byte* take(int64_t bytes) {
    const int c = size_class(bytes);
    std::vector<std::byte*>& list = free_[static_cast<size_t>(c)];
    std::byte* p = nullptr;
    const int64_t size = class_bytes(c);
    if (!list.empty()) {
      p = list.back();
      list.pop_back();
      cached_ -= size;
    } else {
      if (used_ + cached_ + size > std::max(most_used_, used_ + size) + kSpare) clear();
      if (p = system_allocate(size); !p) {
        clear();
        p = system_allocate(size);
      }
    }
    if (!p) throw RunError("[storage] no memory for a tensor of ", bytes, " bytes.");
    most_used_ = std::max(most_used_, used_ += size);
    ++use.blocks;
    use.bytes += bytes;
    use.peak = std::max(use.peak, use.bytes);
    return p;
  }

  void give(std::byte* p, int64_t bytes) {
    const int c = size_class(bytes);
    free_[static_cast<size_t>(c)].push_back(p);
    used_ -= class_bytes(c);
    cached_ += class_bytes(c);
    --use.blocks;
    use.bytes -= bytes;
  }

  void clear() {
    for (std::vector<std::byte*>& list : free_) {
      for (std::byte* p : list) std::free(p);
      list.clear();
    }
    cached_ = 0;
  }

  // False after the end of this thread's cache; tensors in static objects outlive it.
  static bool& alive() {
    thread_local bool flag = true;
    return flag;
  }

  static BlockCache& of_thread() {
    thread_local BlockCache cache;
    return cache;
  }

  MemoryUse use;

 private:
  std::array<std::vector<std::byte*>, 240> free_;
  int64_t used_ = 0, most_used_ = 0, cached_ = 0;  // bytes of blocks
};

}  // namespace

autograd::Storage::Storage(int64_t bytes) : bytes_(bytes) {
  data_ = BlockCache::alive() ? BlockCache::of_thread().take(bytes)
                              : system_allocate(class_bytes(size_class(bytes)));
}

autograd::Storage::~Storage() {
  delete packed_cache_.load(std::memory_order_relaxed);
  if (BlockCache::alive())
    BlockCache::of_thread().give(data_, bytes_);
  else
    std::free(data_);
}

MemoryUse memory_use() { return BlockCache::of_thread().use; }

void reset_peak_memory() {
  MemoryUse& use = BlockCache::of_thread().use;
  use.peak = use.bytes;
}

void release_cached_memory() { BlockCache::of_thread().clear(); }

}  // namespace gradus

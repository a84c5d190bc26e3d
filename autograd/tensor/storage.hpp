// Storage: the bytes under one or more tensors, 64-byte aligned, from a caching allocator.
//
// Freed blocks stay in a cache of the freeing thread and are handed out again by size class, so a training
// step in its steady state asks the kernel for nothing. Large blocks ask for huge pages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "gradus/autograd/tensor/ref.hpp"

namespace gradus::autograd {

/// Base of the packed forms of a weight that are cached beside its storage.
class PackedCache {
 public:
  PackedCache() = default;
  virtual ~PackedCache() = default;
  PackedCache(const PackedCache&) = delete;
  PackedCache& operator=(const PackedCache&) = delete;
};

class Storage : public RefCounted {
 public:
  /// Uninitialised bytes. Throws RunError when the machine has no more memory.
  explicit Storage(int64_t bytes);
  ~Storage();

  std::byte* data() const { return data_; }  ///< 64-byte aligned
  int64_t bytes() const { return bytes_; }   ///< as they were asked for

  /// Grows by one with each write that goes through a tensor's mutable_data(); backward compares it with the
  /// number it saw when the tensor was saved.
  uint64_t version() const { return version_; }
  void bump_version() { ++version_; }  ///< for who writes by another way

  /// The cache of this storage: made at the first call, deleted with the storage. Only one T may be used in a
  /// program; T must check version() itself. Any thread may call.
  template <class T>
  T& packed_cache() {
    PackedCache* found = packed_cache_.load(std::memory_order_acquire);
    if (!found) {
      auto made = std::make_unique<T>();
      if (packed_cache_.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel))
        found = made.release();
    }
    return static_cast<T&>(*found);
  }

 private:
  std::byte* data_;
  int64_t bytes_;
  uint64_t version_ = 0;
  std::atomic<PackedCache*> packed_cache_ = nullptr;
};

/// For Ref.
inline void destroy(Storage* storage) { delete storage; }

}  // namespace gradus::autograd

namespace gradus {

/// What tensors hold, in bytes as they asked for them. Counted by thread: memory that another thread frees
/// stays in the count of the one that asked for it and is taken off the other's.
struct MemoryUse {
  int64_t bytes = 0;   ///< at the moment
  int64_t blocks = 0;  ///< storages, at the moment
  int64_t peak = 0;    ///< most bytes since the thread began or since reset_peak_memory()
};
MemoryUse memory_use();    ///< this thread's
void reset_peak_memory();  ///< the peak becomes what is in use now

/// Gives this thread's cached blocks back to the system.
void release_cached_memory();

}  // namespace gradus

// Storage: the bytes under one or more tensors, 64-byte aligned, from a caching allocator.
//
// Freed blocks stay in a cache of the freeing thread and are handed out again by size class, so a training
// step in its steady state asks the kernel for nothing. Large blocks ask for huge pages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "gradus/autograd/values/ref.hpp"

namespace gradus::autograd {

/// What was made of the bytes of a storage and is kept beside them: packed forms of a weight.
class Companion {
 public:
  Companion() = default;
  virtual ~Companion() = default;
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;
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

  /// Made at the first call, deleted with the storage. A program has Companions of one class, T, which looks
  /// itself whether the version is still the one that it knew. Any thread may call.
  template <class T>
  T& companion() {
    Companion* found = companion_.load(std::memory_order_acquire);
    if (!found) {
      auto made = std::make_unique<T>();
      if (companion_.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel))
        found = made.release();
    }
    return static_cast<T&>(*found);
  }

 private:
  std::byte* data_;
  int64_t bytes_;
  uint64_t version_ = 0;
  std::atomic<Companion*> companion_ = nullptr;
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

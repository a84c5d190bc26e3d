// Storage: the bytes under one or more tensors, 64-byte aligned, from a caching allocator.
//
// Freed memory stays in a cache of the thread that made it, by size class, and is used again, so that
// training does not allocate from the system at every step. What another thread frees goes back to the thread
// that made it. The cache is trimmed when an allocation would exceed the thread's peak use by 256 MiB, and
// emptied when the thread ends. Large blocks ask for huge pages. Bytes may also be borrowed from others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace gradus::autograd {

class BlockCache;  // storage.cpp

/// Base of objects that count the references to them, which may be on several threads.
class RefCounted {
 public:
  /// The number of references now.
  uint32_t use_count() const { return count_.load(std::memory_order_relaxed); }

 protected:
  ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  std::atomic<uint32_t> count_{0};
};

/// A counted pointer, half the size of std::shared_ptr. A function destroy(T*) deletes the object.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Adds a reference to the object, unless it is null.
  explicit Ref(T* object) noexcept : object_(object) { retain(); }
  Ref(const Ref& other) noexcept : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  // Most references that end were moved from; only the others need a call.
  [[gnu::always_inline]] ~Ref() {
    if (object_) release();
  }

  T* get() const { return object_; }                             ///< null if there is none
  T* operator->() const { return object_; }                      ///< not null
  T& operator*() const { return *object_; }                      ///< not null
  explicit operator bool() const { return object_ != nullptr; }  ///< whether there is one
  /// The same object.
  bool operator==(const Ref& other) const { return object_ == other.object_; }

 private:
  [[gnu::always_inline]] void retain() {
    if (object_) object_->count_.fetch_add(1, std::memory_order_relaxed);
  }
  // The holder of the only reference needs no locked subtraction.
  void release() {
    if (object_->count_.load(std::memory_order_acquire) == 1 ||
        object_->count_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy(object_);
  }
  T* object_ = nullptr;
};

/// Base of the packed forms of a weight that its storage caches.
struct PackedCache {
  virtual ~PackedCache() = default;
};

class Storage : public RefCounted {
 public:
  /// Uninitialised bytes. Throws RunError when the machine has no more memory.
  explicit Storage(int64_t bytes);
  /// Borrows bytes, which must stay valid until the destructor calls `release`, on any thread. memory_use()
  /// does not count them.
  Storage(std::byte* data, int64_t bytes, std::function<void()> release);
  ~Storage();

  std::byte* data() const { return data_; }                 ///< 64-byte aligned, unless it is borrowed
  int64_t bytes() const { return bytes_; }                  ///< as requested
  bool is_borrowed() const { return release_ != nullptr; }  ///< whether the bytes are borrowed

  /// Counts the calls of mutable_data(); backward compares it with the count when a tensor was saved.
  uint64_t version() const { return version_; }
  void bump_version() { ++version_; }  ///< for other writes

  /// The cache of this storage: made at the first call, deleted with the storage. Its users must check
  /// version() themselves. Throws std::bad_cast for another T than that of the first call. Thread-safe.
  template <class T>
  T& packed_cache() {
    PackedCache* found = packed_cache_.load(std::memory_order_acquire);
    if (!found) {
      auto made = std::make_unique<T>();
      if (packed_cache_.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel))
        found = made.release();
    }
    return dynamic_cast<T&>(*found);
  }

 private:
  BlockCache* cache_;  // of the thread that made it; null: none
  std::byte* data_;
  int64_t bytes_;
  uint64_t version_ = 0;
  std::atomic<PackedCache*> packed_cache_ = nullptr;
  std::unique_ptr<std::function<void()>> release_;  // of borrowed bytes only
};

/// Called by Ref.
inline void destroy(Storage* storage) { delete storage; }

}  // namespace gradus::autograd

namespace gradus {

/// The memory of the tensors that this thread has made, in requested bytes, whichever thread frees them.
struct MemoryUse {
  int64_t bytes = 0;   ///< now
  int64_t blocks = 0;  ///< storages, now
  int64_t peak = 0;    ///< most bytes since the thread began or since reset_peak_memory()
};
MemoryUse memory_use();    ///< this thread's
void reset_peak_memory();  ///< the peak becomes the present use

/// Gives this thread's cached blocks back to the system.
void release_cached_memory();

}  // namespace gradus

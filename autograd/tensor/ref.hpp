// Ref: a counted pointer to an object that carries its own count (half the size of std::shared_ptr, one
// allocation). The count is atomic: copies of a handle may live on several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace gradus::autograd {

/// What has a count of the references to it.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  /// How many references there are at the moment.
  uint32_t use_count() const { return count_.load(std::memory_order_relaxed); }

 protected:
  ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  std::atomic<uint32_t> count_{0};
};

/// T may offer a static `void destroy(T*)`, found by overload, to say how the last reference dies; `delete`
/// otherwise.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// One more reference; null: none.
  explicit Ref(T* object) noexcept : object_(object) { retain(); }
  Ref(const Ref& other) noexcept : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  // Most references that end were moved from: only the others are worth a call.
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
  // Whoever holds the only reference has nobody to race with: most die so, without a locked subtraction.
  void release() {
    if (object_->count_.load(std::memory_order_acquire) == 1 ||
        object_->count_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy(object_);
  }
  T* object_ = nullptr;
};

}  // namespace gradus::autograd

// Memory aligned to cache lines.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace gradus::kernels {

inline constexpr int64_t kCacheLine = 64;  // bytes

struct FreeAligned {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{kCacheLine}); }
};
using AlignedBuffer = std::unique_ptr<void, FreeAligned>;

/// Uninitialised memory.
inline AlignedBuffer allocate_aligned(int64_t bytes) {
  return AlignedBuffer(::operator new (static_cast<size_t>(bytes), std::align_val_t{kCacheLine}));
}

/// Working memory of a thread; it grows to the largest request.
class Scratch {
 public:
  /// At least `bytes` bytes. A larger request than all before frees the old memory and returns zeros.
  void* of(int64_t bytes) {
    if (bytes > size_) {
      memory_ = allocate_aligned(bytes);
      std::memset(memory_.get(), 0, static_cast<size_t>(bytes));
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  AlignedBuffer memory_;
  int64_t size_ = 0;
};

}  // namespace gradus::kernels

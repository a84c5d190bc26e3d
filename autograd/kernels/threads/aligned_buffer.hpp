// Memory for kernels that begins at a cache line.
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

/// Uninitialised bytes that begin at a cache line.
inline AlignedBuffer allocate_aligned(int64_t bytes) {
  return AlignedBuffer(::operator new (static_cast<size_t>(bytes), std::align_val_t{kCacheLine}));
}

/// A thread's working memory, as large as the largest request so far.
class Scratch {
 public:
  /// At least `bytes` bytes. A request larger than all before frees the old memory and gives zeros.
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

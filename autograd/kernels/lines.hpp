// Memory for kernels that begins at a cache line.
#pragma once

#include <cstdint>
#include <memory>

namespace gradus::kernels {

inline constexpr int64_t kCacheLine = 64;  // bytes

/// Bytes that begin at a cache line; allocate_lines() does not clear them.
struct FreeLines {
  void operator()(void* memory) const;
};
using Lines = std::unique_ptr<void, FreeLines>;
Lines allocate_lines(int64_t bytes);

/// A thread's memory for something, as large as it has ever had to be.
class ScratchLines {
 public:
  /// At least so many bytes. A call for more than ever before frees the old ones and gives zeros.
  void* of(int64_t bytes);

 private:
  Lines memory_;
  int64_t size_ = 0;
};

}  // namespace gradus::kernels

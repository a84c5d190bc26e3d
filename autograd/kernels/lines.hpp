// Memory for kernels that begins at a cache line.
#pragma once

#include <cstdint>
#include <memory>

namespace gradus::kernels {

inline constexpr int64_t kCacheLine = 64;  // bytes

struct FreeLines {
  void operator()(void* memory) const;
};
using Lines = std::unique_ptr<void, FreeLines>;
Lines allocate_lines(int64_t bytes);

/// A thread's memory for something, as large as it has ever had to be; zero at first.
class ScratchLines {
 public:
  void* of(int64_t bytes);

 private:
  Lines memory_;
  int64_t size_ = 0;
};

}  // namespace gradus::kernels

#include "gradus/autograd/kernels/lines.hpp"

#include <cstddef>
#include <cstring>
#include <new>

namespace gradus::kernels {

void FreeLines::operator()(void* memory) const {
  ::operator delete (memory, std::align_val_t{static_cast<size_t>(kCacheLine)});
}

Lines allocate_lines(int64_t bytes) {
  return Lines(
      ::operator new (static_cast<size_t>(bytes), std::align_val_t{static_cast<size_t>(kCacheLine)}));
}

void* ScratchLines::of(int64_t bytes) {
  if (bytes > size_) {
    memory_ = allocate_lines(bytes);
    std::memset(memory_.get(), 0, static_cast<size_t>(bytes));
    size_ = bytes;
  }
  return memory_.get();
}

}  // namespace gradus::kernels

#include "gradus/autograd/kernels/blas/blas_memory.hpp"

#include <sys/mman.h>

#include <atomic>

#include "gradus/files/error.hpp"

namespace gradus::kernels {
namespace {

constexpr size_t kBuffer = size_t{128} << 20;  // bytes, the largest that OpenBLAS is built with
constexpr size_t kSpare =
    size_t{16} << 20;  // bytes that other threads may take before OpenBLAS takes its own

std::atomic<int> running{0};  // calls
std::atomic<int> buffers{0};  // that are there for sure
std::mutex growth;

bool can_map(size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && ::munmap(memory, bytes) == 0;
}

}  // namespace

BlasCall::BlasCall() {
  if (running.fetch_add(1) + 1 > buffers.load()) grow();
}

BlasCall::~BlasCall() { running.fetch_sub(1); }

void BlasCall::grow() {
  growing_ = std::unique_lock(growth);  // Until the call is over, so that the next finds this one's buffer.
  if (running.load() <= buffers.load()) return growing_.unlock();
  if (!can_map(kBuffer + kSpare)) {
    running.fetch_sub(1);
    throw RunError(concat("[memory] BLAS must have ", (kBuffer + kSpare) >> 20,
                          " MiB of address space for each thread, got less. Hint: raise `ulimit -v`, or use "
                          "fewer threads."));
  }
  buffers.fetch_add(1);
}

}  // namespace gradus::kernels

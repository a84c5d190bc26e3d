// Memory that OpenBLAS maps for itself: a buffer for each of its calls that run at once, kept for later ones.
// When the system refuses one it tries again for ever, so here each is tried for first. Thread-safe.
#pragma once

#include <mutex>

namespace gradus::kernels {

/// Held while BLAS runs, and by one thread as long as a buffer may be missing.
class BlasCall {
 public:
  /// Throws RunError if BLAS would need a buffer that cannot be had.
  BlasCall();
  ~BlasCall();
  BlasCall(const BlasCall&) = delete;
  BlasCall& operator=(const BlasCall&) = delete;

 private:
  void grow();
  std::unique_lock<std::mutex> growing_;
};

}  // namespace gradus::kernels

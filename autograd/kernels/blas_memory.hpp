// Memory that OpenBLAS maps for itself: a buffer for each of its calls that run at once, kept for later ones.
// When the system refuses one it tries again for ever, so here each is tried for first. Thread-safe, but for
// what a program does at its start.
#pragma once

#include <mutex>

namespace gradus::kernels {

/// For main(), before all else: where address space is limited (`ulimit -v`), runs the program anew, with the
/// same arguments, in an environment in which OpenBLAS has no threads of its own. Each would take such a
/// buffer while the program is loaded, and one that is refused it would keep exit() waiting for ever. Returns
/// if there is nothing to change, and false if the program could not be run anew.
bool restart_without_blas_threads(char** argv);

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

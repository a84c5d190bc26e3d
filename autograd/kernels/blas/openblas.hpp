// OpenBLAS: its choice of kernels, its memory and its threads.
//
// OpenBLAS chooses kernels when it is loaded. Versions 0.3.20 to 0.3.24, of Debian 12 and Ubuntu 22.04, do
// not recognise newer processors and are then five times slower
// (https://github.com/OpenMathLib/OpenBLAS/issues/4267). No other thread may call BLAS meanwhile.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace gradus::kernels {

/// A set of kernels with vectors as wide as those of `level`, the best of the machine. Empty if `found` has
/// them or is unknown.
std::string_view better_blas_kernels(std::string_view found, std::string_view level);

/// "SkylakeX"; empty if BLAS does not report it.
std::string blas_kernels();

/// Makes BLAS use these kernels. Returns false and changes nothing if BLAS does not have them.
bool use_blas_kernels(const std::string& name);

/// Uses the better kernels, if any, unless OPENBLAS_CORETYPE is set. Returns those that BLAS had chosen.
std::string choose_blas_kernels();

/// The result of choose_blas_kernels() before main().
const std::string& blas_kernels_found();

/// While one lives, BLAS computes on the thread that calls it: the bits of a result do not depend on the
/// number of its threads, which belongs to the whole program (with OpenMP, to the thread) and is afterwards
/// as it was. Thread-safe.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

/// Held during a call of BLAS, on one thread. OpenBLAS maps a buffer for each simultaneous call and keeps it;
/// if the system refuses, it retries forever, so a BlasCall tries first. Thread-safe.
class BlasCall {
 public:
  /// Throws RunError if BLAS needs a buffer that the system refuses.
  BlasCall();
  ~BlasCall();
  BlasCall(const BlasCall&) = delete;
  BlasCall& operator=(const BlasCall&) = delete;

 private:
  void grow();
  OneBlasThread one_thread_;
  std::unique_lock<std::mutex> growing_;
};

}  // namespace gradus::kernels

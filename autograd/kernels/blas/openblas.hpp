// OpenBLAS: its choice of kernels, and its memory.
//
// OpenBLAS asks the processor when it is loaded, and takes one that is newer than itself for one of 2004:
// versions 0.3.20 to 0.3.24, which Debian 12 and Ubuntu 22.04 have, then compute at a fifth of the speed
// (https://github.com/OpenMathLib/OpenBLAS/issues/4267). OPENBLAS_CORETYPE keeps precedence. While kernels
// are changed, no other thread may call BLAS.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace gradus::kernels {

/// The set of kernels that should multiply instead of `found` where `level` is the best that the machine can
/// run: one that uses as wide vectors. Empty if `found` does, or is not known here.
std::string_view better_blas_kernels(std::string_view found, std::string_view level);

/// "SkylakeX"; empty if BLAS does not say.
std::string blas_kernels();

/// Has BLAS multiply with these from now on. False, and nothing changes, where BLAS lacks them or cannot do
/// that.
bool use_blas_kernels(const std::string& name);

/// The better kernels if there are some, unless OPENBLAS_CORETYPE is set. gemm.hpp sees to it before main().
/// Returns the kernels that BLAS had chosen.
std::string choose_blas_kernels();

/// The result of choose_blas_kernels() at the start of the program.
const std::string& blas_kernels_found();

/// Held while BLAS runs. OpenBLAS maps a buffer for each of its calls that run at once and keeps it for later
/// ones; when the system refuses one, it tries again for ever, so a BlasCall tries first. Thread-safe.
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

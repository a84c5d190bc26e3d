// Which of its kernels OpenBLAS multiplies with. It asks the processor when it is loaded, and takes one that
// is newer than itself for one of 2004: versions 0.3.20 to 0.3.24, which Debian 12 and Ubuntu 22.04 have,
// then compute at a fifth of the speed (https://github.com/OpenMathLib/OpenBLAS/issues/4267). What
// OPENBLAS_CORETYPE names stays.
//
// Not thread-safe: no other thread may call BLAS.
#pragma once

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
/// Returns what BLAS had found by itself.
std::string choose_blas_kernels();

/// What it returned then.
const std::string& blas_kernels_found();

}  // namespace gradus::kernels

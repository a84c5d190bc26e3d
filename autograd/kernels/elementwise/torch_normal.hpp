// Box and Muller's transform of 16 uniforms as PyTorch's CPU kernels compute it. The pointer belongs to the
// caller. Pure functions, safe from every thread.
#pragma once

#include <cstddef>

namespace gradus::kernels {

inline constexpr size_t kNormalBlock = 16;

/// x[0, 16): uniforms on [0, 1) in, normals out; x[i] and x[i + 8] become a pair. The float32 one rounds like
/// eight AVX2 lanes do, whatever the processor; the other one as the C library does.
void normals_of_uniforms(float* x, float mean, float std);
void normals_of_uniforms(double* x, double mean, double std);

}  // namespace gradus::kernels

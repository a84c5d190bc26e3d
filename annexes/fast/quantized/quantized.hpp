// Products with weights of 8 or 4 bits, in tiles (autograd/tensor/quantized_types.hpp); formats.hpp has their
// types.
#pragma once

#include "gradus/autograd/kernels/fast/fast_kernels.hpp"

namespace gradus::kernels {

/// How each type is converted and multiplied, in the order of DType. The first kFewRows rows of x or fewer
/// are rounded to 8 bits like weights, with scales in float32; the bits of a row then do not depend on the
/// other rows. For more rows, pieces of the weights are converted to float32.
extern const TileKernels kTileKernels[];

}  // namespace gradus::kernels

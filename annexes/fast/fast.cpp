// The table of what this annex computes.
#include "gradus/annexes/fast/bf16/bf16_product.hpp"
#include "gradus/annexes/fast/ops/fast_ops.hpp"
#include "gradus/annexes/fast/product/float_product.hpp"
#include "gradus/annexes/fast/quantized/quantized.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"

namespace gradus::kernels {

const FastKernels& fast_kernels() {
  static constexpr FastKernels kAll{.multiply_rounded = multiply_rounded,
                                    .multiply_rounded_batch = multiply_rounded_batch,
                                    .rounded_linear = rounded_linear,
                                    .rounded_gelu_linear = rounded_gelu_linear,
                                    .rounded_swiglu_linear = rounded_swiglu_linear,
                                    .gram_bf16 = gram_bf16,
                                    .bf16_burst = bf16_burst,
                                    .stored_linear = stored_linear,
                                    .tiles = kTileKernels,
                                    .attention = tiled_attention,
                                    .packed_attention = tiled_attention,
                                    .beats_blas = beats_blas,
                                    .floats = {FloatKernels<float>{multiply_floats, mirror_blocks},
                                               FloatKernels<double>{multiply_floats, mirror_blocks}}};
  return kAll;
}

}  // namespace gradus::kernels

// Autocast: in which precision matrix products are made. Of this thread.
//
//   {
//     const Autocast autocast(DType::bfloat16);
//     loss = model.loss(x, y);
//   }
//   loss.backward();
//
// matmul(), linear(), scaled_dot_product_attention() and what is made of them round float32 operands to
// bfloat16, as they are packed, and add up in float32; results, and all other ops, are float32 as before,
// where torch.autocast hands on bfloat16. Gradients are made in the precision that the op was made in,
// wherever backward() is called. float64 stays what it is. The processor's unit for it is used where there
// is one (kernels/bf16_unit.hpp).
#pragma once

#include "gradus/autograd/tensor/dtype.hpp"

namespace gradus {

/// The precision in which this thread makes products of float32 tensors: float32 or bfloat16.
DType autocast_dtype();
/// Whether it rounds operands of that dtype.
inline bool is_rounded(DType dtype) { return dtype == DType::float32 && autocast_dtype() == DType::bfloat16; }

/// While it lives, products of this thread are made in that precision.
class Autocast {
 public:
  /// bfloat16, or float32 for products as they are without. Throws Error for other dtypes.
  explicit Autocast(DType dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  DType before_;
};

}  // namespace gradus

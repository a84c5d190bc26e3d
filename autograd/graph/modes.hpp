// How operations of this thread compute: whether they are recorded, in which precision they multiply, and
// whether their values are checked. Each mode is set for the lifetime of an object.
//
//   {
//     const Autocast autocast(DType::bfloat16);
//     loss = model.loss(x, y);
//   }
//   loss.backward();
#pragma once

#include "gradus/autograd/tensor/dtype.hpp"

namespace gradus {

/// Whether operations of this thread are recorded.
bool grad_enabled();

/// Operations of this thread are recorded (true) or not (false).
class GradMode {
 public:
  explicit GradMode(bool enabled);  ///< sets the mode
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

/// Nothing is recorded: evaluation, generation, updates of parameters.
class NoGrad : public GradMode {
 public:
  NoGrad() : GradMode(false) {}
};

/// The precision in which this thread multiplies float32 matrices: float32 or bfloat16.
DType autocast_dtype();
/// Whether a product of operands of that dtype rounds them to bfloat16.
inline bool is_rounded(DType dtype) { return dtype == DType::float32 && autocast_dtype() == DType::bfloat16; }

/// matmul(), linear(), scaled_dot_product_attention() and the operations that contain them round float32
/// operands to bfloat16 and add up in float32. Results and all other operations are float32, where
/// torch.autocast returns bfloat16. A gradient is computed in the precision of its operation, wherever
/// backward() is called. float64 is never rounded. AMX or AVX512_BF16 is used where the processor has it.
class Autocast {
 public:
  /// bfloat16, or float32 for unrounded products. Throws Error for other dtypes.
  explicit Autocast(DType dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  DType before_;
};

namespace autograd {
/// Whether AnomalyMode is on; only AnomalyMode writes it.
extern constinit thread_local bool anomaly_mode;
}  // namespace autograd

/// Finds the operation in which the first number that is not finite arose.
///
///     const AnomalyMode on;
///     model.loss(x, y).backward();  // throws where the first NaN arises
///
/// Each value is checked when it is computed, and each gradient when its rule returns it. NaN is always an
/// error. An infinity is an error where it arises from finite numbers: log(0), an exp() that overflows, the
/// gradient of sqrt at 0; it is none where it was asked for (masked_fill with an infinite value) or was in an
/// input: scores + a mask of -inf, exp(-inf). The Error names the operation, its number as graph_text()
/// counts, the first such element and the inputs. The check costs a pass over every value; when the mode is
/// off, one branch an operation.
class AnomalyMode {
 public:
  /// false: off inside one that is on, around an operation that makes infinities on purpose.
  explicit AnomalyMode(bool enabled = true);
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  bool before_;
};

}  // namespace gradus

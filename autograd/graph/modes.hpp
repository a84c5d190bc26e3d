// Settings of operations. The number of threads is a setting of the process. Each other setting is an object,
// which has its effect on the calling thread during its lifetime: whether operations are recorded, the
// precision of matrix products, and whether values are checked or kept.
//
//   {
//     const Autocast autocast(DType::bfloat16);
//     loss = model.loss(x, y);
//   }
//   loss.backward();
#pragma once

#include <utility>

#include "gradus/autograd/tensor/dtype.hpp"

namespace gradus {

/// The number of threads that ops use, including the calling one. Default: one for each physical core that
/// the process may run on. Results have the same bits for any number. Thread-safe.
int num_threads();
/// Sets the number for the process. Throws Error if n < 1, and if a thread of an op calls it. Thread-safe.
void set_num_threads(int n);

namespace autograd {
/// Sets a variable for its lifetime.
template <class T>
class Scoped {
 public:
  /// Sets it to `value`; the destructor restores the former value.
  Scoped(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  ~Scoped() { variable_ = before_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& variable_;
  T before_;
};
}  // namespace autograd

/// Whether operations of this thread are recorded.
bool grad_enabled();

/// Operations of this thread are recorded (true) or not (false).
class GradMode {
 public:
  [[nodiscard]] explicit GradMode(bool enabled);  ///< sets the mode

 private:
  autograd::Scoped<bool> mode_;
};

/// Records nothing: for evaluation, generation and updates of parameters.
class NoGrad : public GradMode {
 public:
  [[nodiscard]] NoGrad() : GradMode(false) {}
};

/// The precision in which this thread multiplies float32 matrices: float32 or bfloat16.
DType autocast_dtype();
/// Whether a product of operands of that dtype rounds them to bfloat16.
inline bool is_rounded(DType dtype) { return dtype == DType::float32 && autocast_dtype() == DType::bfloat16; }

/// matmul(), linear(), scaled_dot_product_attention() and the operations that contain them round float32
/// operands to bfloat16 and sum in float32. Results and all other operations are float32, where
/// torch.autocast returns bfloat16. A gradient is computed in the precision of its operation, wherever
/// backward() is called. float64 is never rounded. AMX or AVX512_BF16 is used where the processor has it.
class Autocast {
 public:
  /// bfloat16, or float32 for unrounded products. Throws Error for other dtypes, and for bfloat16 in a build
  /// with GRADUS_FAST=OFF.
  [[nodiscard]] explicit Autocast(DType dtype);

 private:
  autograd::Scoped<DType> mode_;
};

namespace autograd {
/// Whether AnomalyMode is on; only AnomalyMode writes it.
extern constinit thread_local bool anomaly_mode;
}  // namespace autograd

/// Finds the operation that produced the first number that is not finite.
///
///     const AnomalyMode on;
///     model.loss(x, y).backward();  // throws where the first NaN arises
///
/// Each value is checked when it is computed, and each gradient when its rule returns it. NaN is always an
/// error. An infinity is an error if it arises from finite numbers: log(0), an exp() that overflows, the
/// gradient of sqrt at 0; an infinity is no error if the call asked for it (masked_fill with an infinite
/// value) or if an input had an infinity. The Error names the operation, its number in graph_text(), the
/// first such element and the inputs. The check reads every value once; when the mode is off, it costs one
/// branch for each operation.
class AnomalyMode {
 public:
  /// false turns an enclosing AnomalyMode off, for an operation that produces infinities on purpose.
  [[nodiscard]] explicit AnomalyMode(bool enabled = true) : mode_(autograd::anomaly_mode, enabled) {}

 private:
  autograd::Scoped<bool> mode_;
};

namespace autograd {
/// Whether KeepValues is on; only KeepValues writes it.
extern constinit thread_local bool keep_values;
}  // namespace autograd

/// During its lifetime, operations keep their values and the values of the leaves that they use in the graph,
/// for graph_html() and graph_json(). Without it, these functions know only the values that gradient rules
/// need. Backward frees the values of operations with the graph. Only one thread at a time may use KeepValues
/// with the same leaves.
class KeepValues {
 public:
  [[nodiscard]] KeepValues() : mode_(autograd::keep_values, true) {}

 private:
  autograd::Scoped<bool> mode_;
};

}  // namespace gradus

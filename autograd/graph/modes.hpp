// Settings of operations: the number of threads; and for the calling thread, during the lifetime of an
// object, whether operations are recorded, in which precision they multiply, and whether values are checked
// or kept.
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
/// Sets it for the process. Throws Error if n < 1, and on the threads of an op. Thread-safe.
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
  explicit GradMode(bool enabled);  ///< sets the mode

 private:
  autograd::Scoped<bool> mode_;
};

/// Records nothing: for evaluation, generation and updates of parameters.
class NoGrad : public GradMode {
 public:
  NoGrad() : GradMode(false) {}
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
  explicit Autocast(DType dtype);

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
/// gradient of sqrt at 0; it is none if the call asked for it (masked_fill with an infinite value) or if an
/// input had it. The Error names the operation, its number in graph_text(), the first such element and the
/// inputs. The check reads every value once; when the mode is off, it costs one branch for each operation.
class AnomalyMode {
 public:
  /// false turns an enclosing AnomalyMode off, for an operation that produces infinities on purpose.
  explicit AnomalyMode(bool enabled = true) : mode_(autograd::anomaly_mode, enabled) {}

 private:
  autograd::Scoped<bool> mode_;
};

namespace autograd {
/// Whether KeepValues is on; only KeepValues writes it.
extern constinit thread_local bool keep_values;
}  // namespace autograd

/// Operations keep their value in the graph, and that of the leaves that they use, for graph_html() and
/// graph_json(), which otherwise know only the values that gradient rules need. Backward frees the values of
/// operations with the graph. One thread at a time may do this with the same leaves.
class KeepValues {
 public:
  KeepValues() : mode_(autograd::keep_values, true) {}

 private:
  autograd::Scoped<bool> mode_;
};

}  // namespace gradus

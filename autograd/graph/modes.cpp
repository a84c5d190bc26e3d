#include "gradus/autograd/graph/modes.hpp"

#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus {
namespace {

thread_local bool grad_mode = true;
thread_local DType dtype_of_products = DType::float32;

}  // namespace

constinit thread_local bool autograd::anomaly_mode = false;
constinit thread_local bool autograd::keep_values = false;

int num_threads() { return kernels::thread_count(); }
void set_num_threads(int n) { kernels::set_thread_count(n); }

bool grad_enabled() { return grad_mode; }
GradMode::GradMode(bool enabled) : mode_(grad_mode, enabled) {}

DType autocast_dtype() { return dtype_of_products; }
Autocast::Autocast(DType dtype) : mode_(dtype_of_products, dtype) {
  if (dtype != DType::bfloat16 && dtype != DType::float32)
    fail("autocast", "needs bfloat16 or float32, got ", name(dtype), ".");
  if (dtype == DType::bfloat16)
    kernels::needed(kernels::fast_kernels().multiply_rounded, "autocast", name(dtype));
}

}  // namespace gradus

#include "gradus/autograd/graph/modes.hpp"

namespace gradus {
namespace {

thread_local bool grad_mode = true;
thread_local DType dtype_of_products = DType::float32;

}  // namespace

constinit thread_local bool autograd::anomaly_mode = false;

bool grad_enabled() { return grad_mode; }
GradMode::GradMode(bool enabled) : before_(grad_mode) { grad_mode = enabled; }
GradMode::~GradMode() { grad_mode = before_; }

DType autocast_dtype() { return dtype_of_products; }
Autocast::Autocast(DType dtype) : before_(dtype_of_products) {
  if (dtype != DType::bfloat16 && dtype != DType::float32)
    fail("autocast", "needs bfloat16 or float32, got ", name(dtype), ".");
  dtype_of_products = dtype;
}
Autocast::~Autocast() { dtype_of_products = before_; }

AnomalyMode::AnomalyMode(bool enabled) : before_(autograd::anomaly_mode) { autograd::anomaly_mode = enabled; }
AnomalyMode::~AnomalyMode() { autograd::anomaly_mode = before_; }

}  // namespace gradus

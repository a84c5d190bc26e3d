#include "gradus/autograd/graph/anomaly.hpp"

namespace gradus {

constinit thread_local bool autograd::anomaly_mode = false;

AnomalyMode::AnomalyMode(bool enabled) : before_(autograd::anomaly_mode) { autograd::anomaly_mode = enabled; }
AnomalyMode::~AnomalyMode() { autograd::anomaly_mode = before_; }

}  // namespace gradus

#include "gradus/autograd/graph/anomaly.hpp"

namespace gradus {

constinit thread_local bool anomaly_mode = false;

AnomalyMode::AnomalyMode(bool enabled) : before_(anomaly_mode) { anomaly_mode = enabled; }
AnomalyMode::~AnomalyMode() { anomaly_mode = before_; }

}  // namespace gradus

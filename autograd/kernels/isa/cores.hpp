// How many processor cores this process may use.
#pragma once

namespace gradus::kernels {

/// Physical cores that the process may run on (hardware threads of one core count once), no more than the CPU
/// quota of its control group; at least 1.
int available_cores();

}  // namespace gradus::kernels

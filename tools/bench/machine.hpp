// Machine: on what, when and with what something was measured.
#pragma once

#include <string>

namespace gradus::train::bench {

struct Machine {
  std::string cpu;       ///< as the processor names itself
  int cores = 0;         ///< physical ones that this process may use
  double load = 0;       ///< processes that wanted a core in the last minute, on average, before we began
  std::string date;      ///< 2026-11-21, local
  std::string system;    ///< Linux 6.1.0
  std::string level;     ///< of the instruction set that kernels use: v2, v3, v4
  std::string blas;      ///< OpenBLAS 0.3.21, Cooperlake kernels
  std::string compiler;  ///< that built gradus
};

Machine this_machine();

}  // namespace gradus::train::bench

// Machine: on what, when and with what something runs or was measured.
#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

struct Machine {
  std::string cpu;       ///< as the processor names itself
  int cores = 0;         ///< physical ones that this process may use
  double load = 0;       ///< processes that wanted a core in the last minute, on average, before we began
  std::string date;      ///< 2026-11-21, local
  std::string system;    ///< Linux 6.1.0
  std::string level;     ///< of the instruction set that kernels use: x86-64-v2, -v3, -v4
  std::string units;     ///< for small numbers, as Linux names them: "amx_bf16 avx512_bf16", or empty
  std::string blas;      ///< OpenBLAS 0.3.21, Cooperlake kernels
  std::string compiler;  ///< that built gradus
};

Machine this_machine();

/// What this machine can do at most, with as many threads as there are set.
struct Peak {
  double gflops = 0;       ///< float32 multiplications and additions, 10^9 a second, at the best level
  std::string unit;        ///< that makes products in bfloat16: amx, avx512_bf16, widened
  double bf16_gflops = 0;  ///< the same of these
  double read_gb_s = 0;    ///< memory read, 10^9 bytes a second
};

/// Takes a tenth of a second, and 256 MiB for as long.
Peak measure_peak();

/// A sentence for each thing, as a variable of the environment, by which programs compute more slowly than
/// they could.
std::vector<std::string> what_holds_back();

}  // namespace gradus::cli

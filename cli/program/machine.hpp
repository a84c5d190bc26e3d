// Machine: the hardware and software of a measurement, and its date.
#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

struct Machine {
  std::string cpu;     ///< the name that the processor reports
  int cores = 0;       ///< physical cores that this process may use
  double load = 0;     ///< average number of processes that wanted a core in the last minute
  std::string date;    ///< 2026-11-21, local
  std::string system;  ///< Linux 6.1.0
  std::string level;   ///< instruction set of the kernels: x86-64-v2, -v3, -v4
  std::string units;   ///< instructions for 8 and 16 bits, by Linux's names: "amx_bf16 avx512_bf16", or empty
  std::string blas;    ///< OpenBLAS 0.3.21, Cooperlake kernels
  std::string compiler;  ///< of this program
};

Machine this_machine();

/// Peak rates of this machine with the number of threads that is set.
struct Peak {
  double gflops = 0;       ///< float32 multiplications and additions, 10^9 per second
  std::string unit;        ///< the code that multiplies bfloat16: amx, avx512_bf16, widened
  double bf16_gflops = 0;  ///< its multiplications and additions, 10^9 per second
  double read_gb_s = 0;    ///< memory read, 10^9 bytes per second
};

/// Takes a tenth of a second and 256 MiB.
Peak measure_peak();

/// A sentence for each reason why programs compute slower than they could, such as an environment variable.
std::vector<std::string> what_holds_back();

}  // namespace gradus::cli

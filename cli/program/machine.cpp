#include "gradus/cli/program/machine.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/machine_peak.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

/// The first of these fields in /proc/cpuinfo, or `unknown`.
std::string of_cpu(std::initializer_list<std::string_view> names, const char* unknown = "") {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    for (const std::string_view name : names)
      if (const size_t colon = line.find(": "); line.starts_with(name) && colon != line.npos)
        return line.substr(colon + 2);
  return unknown;
}

/// Instructions for products of 8-bit or 16-bit numbers.
std::string units() {
  constexpr std::string_view kUnits[] = {"amx_bf16",    "amx_int8", "avx512_bf16", "avx512_vnni", "avx_vnni",
                                         "avx512_fp16", "bf16",     "i8mm",        "asimddp"};
  std::istringstream flags(of_cpu({"flags", "Features"}));
  std::string found;
  for (std::string flag; flags >> flag;)
    if (std::ranges::find(kUnits, flag) != std::end(kUnits)) found += (found.empty() ? "" : " ") + flag;
  return found;
}

std::string system_name() {
  utsname name{};
  return ::uname(&name) == 0 ? concat(name.sysname, " ", name.release) : "an unknown system";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", ::localtime_r(&now, &local));
  return text.data();
}

double load() {
  double minute = 0;
  return ::getloadavg(&minute, 1) == 1 ? minute : 0;
}

std::string level() {
  const std::string_view name = kernels::isa_name(kernels::isa_in_use());
  return concat(name.starts_with('v') ? "x86-64-" : "", name);
}

/// Bytes per second.
double read_rate() {
  constexpr int64_t kFloats = int64_t{64} << 20;
  const std::vector<float> memory(static_cast<size_t>(kFloats), 1.0F);
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    kernels::read_all(kFloats, memory.data());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, sizeof(float) * static_cast<double>(kFloats) / seconds.count());
  }
  return best;
}

std::string compiler() {
#if defined(__clang__)
  return concat("clang ", __clang_major__, ".", __clang_minor__);
#else
  return concat("gcc ", __GNUC__, ".", __GNUC_MINOR__);
#endif
}

}  // namespace

Machine this_machine() {
  return {.cpu = of_cpu({"model name"}, "an unknown processor"),
          .cores = kernels::available_cores(),
          .load = load(),
          .date = today(),
          .system = system_name(),
          .level = level(),
          .units = units(),
          .blas = kernels::blas_name(),
          .compiler = compiler()};
}

Peak measure_peak() {
  return {.gflops = 1e-9 * kernels::multiply_add_rate(kernels::kPeakSeconds),
          .unit = kernels::fast_kernels().bf16_burst
                      ? std::string(kernels::isa_name(kernels::isa_in_use<kernels::Bf16Unit>()))
                      : "no code (GRADUS_FAST=OFF)",
          .bf16_gflops = 1e-9 * kernels::bf16_rate(kernels::kPeakSeconds),
          .read_gb_s = 1e-9 * read_rate()};
}

std::vector<std::string> what_holds_back() {
  std::vector<std::string> all;
  const std::string_view best = kernels::isa_name(kernels::available_isas().front());
  if (const char* chosen = std::getenv("GRADUS_LEVEL"); chosen && chosen != best)
    all.push_back(concat("GRADUS_LEVEL asks for ", chosen, "; this machine runs ", best, "."));
  const std::string in_use = kernels::blas_kernels();
  if (const std::string_view better = kernels::better_blas_kernels(in_use, best); !better.empty())
    all.push_back(
        std::getenv("OPENBLAS_CORETYPE")
            ? concat("OPENBLAS_CORETYPE asks for ", in_use, " kernels; ", better, "'s suit this machine.")
            : concat("BLAS uses ", in_use, " kernels and has no ", better, " ones."));
  if (in_use.empty())
    all.push_back(
        "This BLAS does not report its kernels. Hint: OpenBLAS (libopenblas0-pthread) is known to be fast.");
  if (best == "v2") all.push_back("The processor or the system does not support AVX2 and FMA.");
  cpu_set_t mine;
  const auto processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) < processors)
    all.push_back(concat("This process may run on ", CPU_COUNT(&mine), " of ", processors, " processors."));
  if (load() >= 0.5)
    all.push_back(
        concat("Other programs used ", std::round(10 * load()) / 10, " processors in the last minute."));
  return all;
}

}  // namespace gradus::cli

#include "gradus/autograd/kernels/isa/isa.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "gradus/files/error.hpp"

#if defined(GRADUS_HAS_AMX) || defined(GRADUS_HAS_AVX512_BF16)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gradus::kernels {
namespace {

#define GRADUS_NAME(level) #level,
constexpr std::string_view kNames[] = {GRADUS_LEVELS(GRADUS_NAME) "amx", "avx512_bf16", "widened"};
#undef GRADUS_NAME

std::vector<Isa> found_levels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                  __builtin_cpu_supports("popcnt");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  const auto has = [&](std::string_view level) { return level == "v4" ? v4 : level == "v3" ? v3 : true; };
#else
  const auto has = [](std::string_view) { return true; };
#endif
  std::vector<Isa> found;
#define GRADUS_ADD(level) \
  if (has(#level)) found.push_back(Isa::level);
  GRADUS_LEVELS(GRADUS_ADD)
#undef GRADUS_ADD
  return found;
}

#if defined(GRADUS_HAS_AMX) || defined(GRADUS_HAS_AVX512_BF16)
/// Whether the processor has AMX tiles and their products in bfloat16.
bool has_amx() {
  constexpr unsigned kNeeded = 1U << 22 | 1U << 24;
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kNeeded) == kNeeded;
}

/// Asks Linux for permission to use AMX; fails if the system does not save its registers.
bool may_use_amx() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, since Linux 5.16
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::vector<Isa> found_for_bf16() {
  std::vector<Isa> found;
#if defined(GRADUS_HAS_AMX)
  if (has_amx() && may_use_amx()) found.push_back(Isa::amx);
#endif
  found.push_back(Isa::widened);
#if defined(GRADUS_HAS_AVX512_BF16)
  // Its file is built for all of v4. On cores with AMX `widened` is faster: they start a VDPBF16PS every
  // other cycle, and it does two multiply-adds (measured on Granite Rapids: 113 GFLOP/s, and 227 widened).
  if (isa_name(available_isas().front()) == "v4" && __builtin_cpu_supports("avx512bf16"))
    found.insert(found.end() - (has_amx() ? 0 : 1), Isa::avx512_bf16);
#endif
  return found;
}
#else
std::vector<Isa> found_for_bf16() { return {Isa::widened}; }
#endif

Isa named(IsaFor use, std::string_view name) {
  const std::vector<Isa>& available = available_isas(use);
  const auto found =
      std::find_if(available.begin(), available.end(), [&](Isa i) { return isa_name(i) == name; });
  if (found != available.end()) return *found;
  const std::string names = joined(available, ", ", isa_name);
  if (use == IsaFor::loops)
    fail("level", "GRADUS_LEVEL must be one that this machine can run (", names, "), got ", name, ".");
  fail("unit", "GRADUS_UNIT must be one that this machine has (", names, "), got ", name, ".");
}

[[gnu::noinline]] Isa at_start(IsaFor use) {
  const char* const name = std::getenv(use == IsaFor::loops ? "GRADUS_LEVEL" : "GRADUS_UNIT");
  return name ? named(use, name) : available_isas(use).front();
}

Isa& current(IsaFor use) {
  if (use == IsaFor::loops) {
    static Isa level = at_start(IsaFor::loops);
    return level;
  }
  static Isa for_bf16 = at_start(IsaFor::bf16);
  return for_bf16;
}

}  // namespace

std::string_view isa_name(Isa isa) { return kNames[static_cast<int>(isa)]; }

const std::vector<Isa>& available_isas(IsaFor use) {
  static const std::vector<Isa> levels = found_levels();
  if (use == IsaFor::loops) return levels;
  static const std::vector<Isa> for_bf16 = found_for_bf16();
  return for_bf16;
}

Isa isa_in_use(IsaFor use) { return current(use); }

void set_isa(std::string_view name, IsaFor use) { current(use) = named(use, name); }

}  // namespace gradus::kernels

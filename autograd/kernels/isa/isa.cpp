#include "gradus/autograd/kernels/isa/isa.hpp"

#include <cstdint>
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
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
  Leaf(unsigned leaf, unsigned part) { __get_cpuid_count(leaf, part, &a, &b, &c, &d); }
};

bool bit(uint64_t word, int place) { return (word >> place & 1) != 0; }

/// The registers that the system saves (XCR0, Intel SDM volume 1, 13.3); 0 if it does not say.
uint64_t saved_registers() {
  constexpr int kOsxsave = 27;
  if (!bit(Leaf(1, 0).c, kOsxsave)) return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

/// Whether Linux lets this process use AMX.
bool has_permission_for_amx() {
  constexpr int kConfiguration = 17,
                kTiles = 18;                   // states of XCR0; the second one is large and needs permission
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM, since Linux 5.16
  const uint64_t saved = saved_registers();
  return bit(saved, kConfiguration) && bit(saved, kTiles) &&
         ::syscall(SYS_arch_prctl, kRequestPermission, kTiles) == 0;
}

std::vector<Isa> found_for_bf16() {
  const Leaf features(7, 0);
  const bool processor_has_amx = bit(features.d, 22) && bit(features.d, 24);  // bfloat16 and tiles
  std::vector<Isa> found;
#if defined(GRADUS_HAS_AMX)
  if (processor_has_amx && has_permission_for_amx()) found.push_back(Isa::amx);
#endif
  found.push_back(Isa::widened);
#if defined(GRADUS_HAS_AVX512_BF16)
  // The file is built for all of v4, which includes the registers of 512 bits. Cores with AMX start a
  // VDPBF16PS every other cycle, and two multiply-adds in each: measured on Granite Rapids, 113 GFLOP/s and
  // 227.
  if (isa_name(available_isas().front()) == "v4" && bit(Leaf(7, 1).a, 5))
    found.insert(found.end() - (processor_has_amx ? 0 : 1), Isa::avx512_bf16);
#endif
  return found;
}
#else
std::vector<Isa> found_for_bf16() { return {Isa::widened}; }
#endif

Isa named(IsaFor use, std::string_view name) {
  std::string names;
  for (const Isa isa : available_isas(use)) {
    if (isa_name(isa) == name) return isa;
    names += concat(names.empty() ? "" : ", ", isa_name(isa));
  }
  if (use == IsaFor::loops)
    fail("level", "GRADUS_LEVEL must be one that this machine can run (", names, "), got ", name, ".");
  fail("unit", "GRADUS_UNIT must be one that this machine has (", names, "), got ", name, ".");
}

Isa at_start(IsaFor use) {
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

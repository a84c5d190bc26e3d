#include "gradus/autograd/kernels/bf16_unit.hpp"

#include <cstdlib>
#include <string>

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/files/error.hpp"

#if defined(GRADUS_HAS_AMX) || defined(GRADUS_HAS_AVX512_BF16)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gradus::kernels {
namespace {

#if defined(GRADUS_HAS_AMX) || defined(GRADUS_HAS_AVX512_BF16)
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
  Leaf(unsigned leaf, unsigned part) { __get_cpuid_count(leaf, part, &a, &b, &c, &d); }
};

bool bit(uint64_t word, int place) { return (word >> place & 1) != 0; }

/// Which registers the system saves (XCR0, Intel SDM volume 1, 13.3); 0 if it does not say.
[[maybe_unused]] uint64_t saved_registers() {
  constexpr int kOsxsave = 27;
  if (!bit(Leaf(1, 0).c, kOsxsave)) return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}
#endif

bool machine_has_avx512_bf16() {
#if defined(GRADUS_HAS_AVX512_BF16)
  // The file is built for all of v4, in which are the registers of 512 bits.
  return available_levels().front() == "v4" && bit(Leaf(7, 1).a, 5);
#else
  return false;
#endif
}

/// Whether the processor has AMX, be it that the system lends it or not.
[[maybe_unused]] bool processor_has_amx() {
#if defined(GRADUS_HAS_AMX) || defined(GRADUS_HAS_AVX512_BF16)
  const Leaf features(7, 0);
  const bool bfloat16 = bit(features.d, 22), tiles = bit(features.d, 24);
  return bfloat16 && tiles;
#else
  return false;
#endif
}

bool machine_has_amx() {
#if defined(GRADUS_HAS_AMX)
  constexpr int kConfiguration = 17, kTiles = 18;  // states of XCR0; the second one is large, and lent
  constexpr long kRequestPermission = 0x1023;      // ARCH_REQ_XCOMP_PERM, since Linux 5.16
  const uint64_t saved = saved_registers();
  return processor_has_amx() && bit(saved, kConfiguration) && bit(saved, kTiles) &&
         ::syscall(SYS_arch_prctl, kRequestPermission, kTiles) == 0;
#else
  return false;
#endif
}

std::vector<Unit> found() {
  std::vector<Unit> units;
  if (machine_has_amx()) units.push_back(Unit::amx);
  units.push_back(Unit::widened);
  // Cores with AMX start a VDPBF16PS every other cycle, and two multiply-adds in each: measured on Granite
  // Rapids, 113 GFLOP/s and 227.
  if (machine_has_avx512_bf16()) units.insert(units.end() - (processor_has_amx() ? 0 : 1), Unit::avx512_bf16);
  return units;
}

Unit unit_named(std::string_view name) {
  std::string names;
  for (const Unit unit : available_units()) {
    if (unit_name(unit) == name) return unit;
    names += concat(names.empty() ? "" : ", ", unit_name(unit));
  }
  fail("unit", "GRADUS_UNIT must be one that this machine has (", names, "), got ", name, ".");
}

Unit unit_at_start() {
  if (const char* name = std::getenv("GRADUS_UNIT")) return unit_named(name);
  return available_units().front();
}

Unit& current_unit() {
  static Unit unit = unit_at_start();
  return unit;
}

}  // namespace

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::amx:
      return "amx";
    case Unit::avx512_bf16:
      return "avx512_bf16";
    default:
      return "widened";
  }
}

std::vector<Unit> available_units() {
  static const std::vector<Unit> units = found();
  return units;
}

Unit unit_in_use() { return current_unit(); }

void set_unit(std::string_view name) { current_unit() = unit_named(name); }

const Bf16Kernel& unit_kernel([[maybe_unused]] Unit unit) {
#if defined(GRADUS_HAS_AMX)
  if (unit == Unit::amx) return amx::kernel;
#endif
#if defined(GRADUS_HAS_AVX512_BF16)
  if (unit == Unit::avx512_bf16) return avx512_bf16::kernel;
#endif
  return level_loops<WidenedLoops>().kernel;
}

}  // namespace gradus::kernels

#include "gradus/autograd/kernels/isa/isa.hpp"

#include <algorithm>
#include <cstdlib>

#include "gradus/files/error.hpp"

#if defined(GRADUS_HAS_AMX) || defined(GRADUS_HAS_AVX512_BF16)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gradus::kernels {
namespace {

/// The names, the environment variable and the detection of Level or Bf16Unit.
template <class Isa>
struct Traits;
template <>
struct Traits<Level> {
#define GRADUS_NAME(level) #level,
  static constexpr std::string_view kNames[] = {GRADUS_LEVELS(GRADUS_NAME) "reference"};
#undef GRADUS_NAME
  static constexpr std::string_view kWhat = "level";
  static constexpr const char* kVariable = "GRADUS_LEVEL";
};
template <>
struct Traits<Bf16Unit> {
  static constexpr std::string_view kNames[] = {"amx", "avx512_bf16", "widened"};
  static constexpr std::string_view kWhat = "unit";
  static constexpr const char* kVariable = "GRADUS_UNIT";
};

std::vector<Level> found(Level) {
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
  std::vector<Level> found;
#define GRADUS_ADD(level) \
  if (has(#level)) found.push_back(Level::level);
  GRADUS_LEVELS(GRADUS_ADD)
#undef GRADUS_ADD
  found.push_back(Level::reference);
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

std::vector<Bf16Unit> found(Bf16Unit) {
  std::vector<Bf16Unit> found;
#if defined(GRADUS_HAS_AMX)
  if (has_amx() && may_use_amx()) found.push_back(Bf16Unit::amx);
#endif
  found.push_back(Bf16Unit::widened);
#if defined(GRADUS_HAS_AVX512_BF16)
  // Its file is built for all of v4. On cores with AMX `widened` is faster: they start a VDPBF16PS every
  // other cycle, and it does two multiply-adds (measured on Granite Rapids: 113 GFLOP/s, and 227 widened).
  if (isa_name(available_isas().front()) == "v4" && __builtin_cpu_supports("avx512bf16"))
    found.insert(found.end() - (has_amx() ? 0 : 1), Bf16Unit::avx512_bf16);
#endif
  return found;
}
#else
std::vector<Bf16Unit> found(Bf16Unit) { return {Bf16Unit::widened}; }
#endif

template <class Isa>
Isa named(std::string_view name) {
  const std::vector<Isa>& available = available_isas<Isa>();
  const auto found = std::ranges::find(available, name, isa_name<Isa>);
  if (found == available.end())
    fail(Traits<Isa>::kWhat, Traits<Isa>::kVariable, " must be one that this machine has (",
         joined(available, ", ", isa_name<Isa>), "), got ", name, ".");
  return *found;
}

template <class Isa>
Isa& current() {
  static Isa isa = [] {
    const char* const name = std::getenv(Traits<Isa>::kVariable);
    return name ? named<Isa>(name) : available_isas<Isa>().front();
  }();
  return isa;
}

}  // namespace

template <class Isa>
std::string_view isa_name(Isa isa) {
  return Traits<Isa>::kNames[static_cast<int>(isa)];
}

template <class Isa>
const std::vector<Isa>& available_isas() {
  static const std::vector<Isa> all = found(Isa{});
  return all;
}

template <class Isa>
Isa isa_in_use() {
  return current<Isa>();
}

bool is_reference_in_use = [] {
  const char* const name = std::getenv(Traits<Level>::kVariable);
  return name && name == isa_name(Level::reference);
}();

template <class Isa>
void set_isa(std::string_view name) {
  current<Isa>() = named<Isa>(name);
  is_reference_in_use = isa_in_use() == Level::reference;
}

#define GRADUS_INSTANTIATE(Isa)                      \
  template std::string_view isa_name(Isa);           \
  template const std::vector<Isa>& available_isas(); \
  template Isa isa_in_use();                         \
  template void set_isa<Isa>(std::string_view)
GRADUS_INSTANTIATE(Level);
GRADUS_INSTANTIATE(Bf16Unit);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels

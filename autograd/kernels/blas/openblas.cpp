#include "gradus/autograd/kernels/blas/openblas.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/files/error.hpp"

// Functions of an OpenBLAS with several sets of kernels; weak, null in other BLAS libraries.
extern "C" {
char* openblas_get_corename(void) __attribute__((weak));
void gotoblas_dynamic_init(void) __attribute__((weak));
void gotoblas_dynamic_quit(void) __attribute__((weak));
}

namespace gradus::kernels {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

/// The vector instructions of a set of kernels.
enum class Vectors { sse, avx, avx2, avx512 };

struct KernelSet {
  std::string_view name;
  Vectors vectors;
};

constexpr KernelSet kSets[] = {
    {"Katmai", Vectors::sse},        {"Coppermine", Vectors::sse},
    {"Northwood", Vectors::sse},     {"Banias", Vectors::sse},
    {"Prescott", Vectors::sse},      {"Core2", Vectors::sse},
    {"Penryn", Vectors::sse},        {"Dunnington", Vectors::sse},
    {"Nehalem", Vectors::sse},       {"Atom", Vectors::sse},
    {"Nano", Vectors::sse},          {"Athlon", Vectors::sse},
    {"Opteron", Vectors::sse},       {"Opteron_SSE3", Vectors::sse},
    {"Barcelona", Vectors::sse},     {"Bobcat", Vectors::sse},
    {"Sandybridge", Vectors::avx},   {"Bulldozer", Vectors::avx},
    {"Piledriver", Vectors::avx},    {"Steamroller", Vectors::avx},
    {"Excavator", Vectors::avx},     {"Haswell", Vectors::avx2},
    {"Zen", Vectors::avx2},          {"SkylakeX", Vectors::avx512},
    {"Cooperlake", Vectors::avx512}, {"SapphireRapids", Vectors::avx512},
};

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// OpenBLAS looks at the machine once more, and reads the variable first.
void look_again() {
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
}

constexpr size_t kBuffer = size_t{128} << 20;  // bytes, the largest that OpenBLAS is built with
constexpr size_t kSpare =
    size_t{16} << 20;  // bytes that other threads may take before OpenBLAS takes its own

std::atomic<int> running{0};  // calls
std::atomic<int> buffers{0};  // that are there for sure
std::mutex growth;

bool can_map(size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && ::munmap(memory, bytes) == 0;
}

}  // namespace

std::string_view better_blas_kernels(std::string_view found, std::string_view level) {
  const auto set = std::find_if(std::begin(kSets), std::end(kSets),
                                [&](const KernelSet& s) { return same_letters(s.name, found); });
  if (set == std::end(kSets)) return {};
  if (level == "v4" && set->vectors < Vectors::avx512) return "SkylakeX";
  if (level == "v3" && set->vectors < Vectors::avx2) return "Haswell";
  return {};
}

std::string blas_kernels() { return openblas_get_corename ? openblas_get_corename() : ""; }

bool use_blas_kernels(const std::string& name) {
  if (!gotoblas_dynamic_init || !gotoblas_dynamic_quit || !openblas_get_corename) return false;
  const char* const old = std::getenv(kVariable);
  const std::string before = old ? old : "", in_use = blas_kernels();
  ::setenv(kVariable, name.c_str(), 1);
  look_again();
  const bool done = same_letters(blas_kernels(), name);
  if (!done) {
    ::setenv(kVariable, in_use.c_str(), 1);
    look_again();
  }
  old ? ::setenv(kVariable, before.c_str(), 1) : ::unsetenv(kVariable);
  return done;
}

std::string choose_blas_kernels() {
  const std::string found = blas_kernels();
  if (std::getenv(kVariable)) return found;
  if (const std::string_view better = better_blas_kernels(found, isa_name(available_isas().front()));
      !better.empty())
    use_blas_kernels(std::string(better));
  return found;
}

const std::string& blas_kernels_found() {
  static const std::string found = choose_blas_kernels();
  return found;
}

BlasCall::BlasCall() {
  if (running.fetch_add(1) + 1 > buffers.load()) grow();
}

BlasCall::~BlasCall() { running.fetch_sub(1); }

void BlasCall::grow() {
  growing_ = std::unique_lock(growth);  // Until the call is over, so that the next finds this one's buffer.
  if (running.load() <= buffers.load()) return growing_.unlock();
  if (!can_map(kBuffer + kSpare)) {
    running.fetch_sub(1);
    throw RunError(concat("[memory] BLAS must have ", (kBuffer + kSpare) >> 20,
                          " MiB of address space for each thread, got less. Hint: raise `ulimit -v`, or use "
                          "fewer threads."));
  }
  buffers.fetch_add(1);
}

}  // namespace gradus::kernels

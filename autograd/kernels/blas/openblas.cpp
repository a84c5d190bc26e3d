#include "gradus/autograd/kernels/blas/openblas.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/files/error.hpp"

// Functions of an OpenBLAS with several sets of kernels; weak: null in other BLAS libraries.
extern "C" {
char* openblas_get_corename(void) __attribute__((weak));
void gotoblas_dynamic_init(void) __attribute__((weak));
void gotoblas_dynamic_quit(void) __attribute__((weak));
int openblas_get_num_threads(void) __attribute__((weak));
void openblas_set_num_threads(int threads) __attribute__((weak));
int openblas_get_parallel(void) __attribute__((weak));
}

namespace gradus::kernels {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

// Sets of kernels without AVX2, and those with AVX2 but without AVX-512, in lower case.
constexpr std::string_view kBelowAvx2 =
    " katmai coppermine northwood banias prescott core2 penryn dunnington nehalem atom nano athlon opteron "
    "opteron_sse3 barcelona bobcat sandybridge bulldozer piledriver steamroller excavator ";
constexpr std::string_view kBelowAvx512 = " haswell zen ";

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// OpenBLAS detects the processor again; the variable takes precedence.
void detect_again() {
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
}

// In bytes: OpenBLAS's largest buffer, and the memory that other threads may take before it is mapped.
constexpr size_t kBuffer = size_t{128} << 20, kSpare = size_t{16} << 20;

std::atomic<int> running{0};  // calls
std::atomic<int> buffers{0};  // that OpenBLAS always has
std::mutex growth;

struct ThreadSetting {
  std::atomic<int> users{0};  // above 0 while BLAS has one thread
  int before = 1;
  std::mutex change;
};
constinit ThreadSetting of_process;
constinit thread_local ThreadSetting of_thread;

ThreadSetting& thread_setting() {
  constexpr int kOpenMp = 2;
  static const bool by_thread = openblas_get_parallel && openblas_get_parallel() == kOpenMp;
  return by_thread ? of_thread : of_process;
}

// Adds `more` if others, at least `least`, use the setting.
bool joins(ThreadSetting& setting, int least, int more) {
  int users = setting.users.load();
  while (users >= least && !setting.users.compare_exchange_weak(users, users + more)) {
  }
  return users >= least;
}

bool can_map(size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && ::munmap(memory, bytes) == 0;
}

}  // namespace

std::string_view better_blas_kernels(std::string_view found, std::string_view level) {
  const std::string name = lower(concat(" ", found, " "));
  const bool below_avx2 = kBelowAvx2.find(name) != kBelowAvx2.npos;
  if (level == "v4" && (below_avx2 || kBelowAvx512.find(name) != kBelowAvx512.npos)) return "SkylakeX";
  return level == "v3" && below_avx2 ? "Haswell" : "";
}

std::string blas_kernels() { return openblas_get_corename ? openblas_get_corename() : ""; }

bool use_blas_kernels(const std::string& name) {
  if (!gotoblas_dynamic_init || !gotoblas_dynamic_quit || !openblas_get_corename) return false;
  const char* const old = std::getenv(kVariable);
  const std::string before = old ? old : "", in_use = blas_kernels();
  ::setenv(kVariable, name.c_str(), 1);
  detect_again();
  const bool done = lower(blas_kernels()) == lower(name);
  if (!done) {
    ::setenv(kVariable, in_use.c_str(), 1);
    detect_again();
  }
  old ? ::setenv(kVariable, before.c_str(), 1) : ::unsetenv(kVariable);
  return done;
}

std::string choose_blas_kernels() {
  const std::string found = blas_kernels();
  if (std::getenv(kVariable)) return found;
  const std::string better(better_blas_kernels(found, isa_name(available_isas().front())));
  if (!better.empty()) use_blas_kernels(better);
  return found;
}

const std::string& blas_kernels_found() {
  static const std::string found = choose_blas_kernels();
  return found;
}

OneBlasThread::OneBlasThread() {
  ThreadSetting& setting = thread_setting();
  if (!openblas_set_num_threads || !openblas_get_num_threads || joins(setting, 1, 1)) return;
  const std::lock_guard lock(setting.change);
  if (setting.users.load() == 0) {
    setting.before = openblas_get_num_threads();
    if (setting.before != 1) openblas_set_num_threads(1);
  }
  setting.users.fetch_add(1);
}

OneBlasThread::~OneBlasThread() {
  ThreadSetting& setting = thread_setting();
  if (!openblas_set_num_threads || !openblas_get_num_threads || joins(setting, 2, -1)) return;
  const std::lock_guard lock(setting.change);
  if (setting.users.fetch_sub(1) == 1 && setting.before != 1) openblas_set_num_threads(setting.before);
}

BlasCall::BlasCall() {
  if (running.fetch_add(1) + 1 > buffers.load()) grow();
}

BlasCall::~BlasCall() { running.fetch_sub(1); }

void BlasCall::grow() {
  growing_ = std::unique_lock(growth);  // until the call ends: the next call then finds this one's buffer
  if (running.load() <= buffers.load()) return growing_.unlock();
  if (!can_map(kBuffer + kSpare)) {
    running.fetch_sub(1);
    throw RunError("[memory] BLAS must have ", (kBuffer + kSpare) >> 20,
                   " MiB of address space for each thread, got less. Hint: raise `ulimit -v`, or use "
                   "fewer threads.");
  }
  buffers.fetch_add(1);
}

}  // namespace gradus::kernels

#include "gradus/cli/program/blas_start.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

namespace gradus::cli {
namespace {

constexpr const char* kWithoutThreads = "OPENBLAS_NUM_THREADS=1";

bool is_without_threads(char** environment) {
  while (*environment && std::string_view(*environment) != kWithoutThreads) ++environment;
  return *environment != nullptr;
}

void begin_again(char** argv) {
  ::putenv(const_cast<char*>(kWithoutThreads));
  constexpr const char* kProgram = "/proc/self/exe";
  char path[4096] = {};
  if (::readlink(kProgram, path, sizeof path - 1) > 0) ::execv(path, argv);
  ::execv(kProgram, argv);  // The process is named exe; the file was removed.
}

// Where the number of threads is limited (ulimit -u, a container's limit of processes), OpenBLAS raises
// SIGINT, which would end the program like Ctrl-C.
struct {
  char** arguments;
  struct sigaction on_interrupt;
} at_start = {};

void on_interrupt(int signal, siginfo_t* info, void*) {
  ::sigaction(signal, &at_start.on_interrupt, nullptr);
  if (info->si_code == SI_TKILL && info->si_pid == ::getpid()) begin_again(at_start.arguments);  // by raise()
  ::raise(signal);
}

void watch_blas(int, char** argv, char** environment) {
  if (is_without_threads(environment)) return;  // getenv() does not work yet
  at_start.arguments = argv;
  struct sigaction action = {};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigaction(SIGINT, &action, &at_start.on_interrupt);
}

// This runs before the initialisation of any library, which precedes the program's own.
[[gnu::section(".preinit_array"), gnu::used]] void (*const watch)(int, char**, char**) = watch_blas;
[[maybe_unused]] const bool watched =
    at_start.arguments && ::sigaction(SIGINT, &at_start.on_interrupt, nullptr) == 0;

}  // namespace

bool begin_without_blas_threads(char** argv) {
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return true;
  if (is_without_threads(::environ)) return true;
  ::setenv("MALLOC_ARENA_MAX", "1", 0);  // glibc reserves 64 MiB or more for each thread's arena
  begin_again(argv);
  return false;
}

}  // namespace gradus::cli

// OpenBLAS starts its threads when it is loaded, before main(). Where the system grants none (ulimit -u, a
// container's limit of processes) it says so and raises SIGINT, which would end the program as if somebody
// had pressed Ctrl-C. The program then begins again without those threads, which it does not need.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

namespace {

constexpr const char* kVariable = "OPENBLAS_NUM_THREADS";

char** arguments = nullptr;
struct sigaction before = {};

void begin_again(int signal, siginfo_t* info, void*) {
  if (info->si_code == SI_TKILL && info->si_pid == ::getpid()) {  // by raise()
    ::setenv(kVariable, "1", 1);
    ::execv("/proc/self/exe", arguments);
  }
  ::sigaction(signal, &before, nullptr);
  ::raise(signal);
}

void watch_blas(int, char** argv, char** environment) {
  for (; *environment; ++environment)  // getenv() does not work yet
    if (std::string_view(*environment) == "OPENBLAS_NUM_THREADS=1") return;
  arguments = argv;
  struct sigaction action = {};
  action.sa_sigaction = begin_again;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigaction(SIGINT, &action, &before);
}

// Called before the initialisation of any library, which is over when the program's own begins.
[[gnu::section(".preinit_array"), gnu::used]] void (*const watch)(int, char**, char**) = watch_blas;
[[maybe_unused]] const bool watched = arguments && ::sigaction(SIGINT, &before, nullptr) == 0;

}  // namespace

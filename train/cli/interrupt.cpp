#include "interrupt.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace gradus::cli {
namespace {

std::atomic<int> caught = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void on_signal(int signal) {
  if (caught.exchange(signal) != 0) ::_exit(128 + signal);
}

void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  caught = 0;
  handle(on_signal);
}

Interrupt::~Interrupt() { handle(SIG_DFL); }

int Interrupt::signal() const { return caught; }

}  // namespace gradus::cli

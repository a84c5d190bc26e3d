#include "gradus/train/interrupt.hpp"

#include <unistd.h>

#include <atomic>

namespace gradus::train {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> first_signal = 0, asked = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void on_signal(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  if (signal != SIGHUP && asked.fetch_add(1) > 0) ::_exit(128 + signal);
}

}  // namespace

Interrupt::Interrupt() {
  first_signal = asked = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

int Interrupt::signal() const { return first_signal; }

}  // namespace gradus::train

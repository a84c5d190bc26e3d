#include "gradus/train/interrupt.hpp"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace gradus::train {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

constexpr int64_t kSecond = 1'000'000'000;

std::atomic<int> first_signal = 0;
std::atomic<int64_t> asked_at = 0;  // nanoseconds; 0: not yet
std::atomic<bool> ends_at_once = false;
static_assert(std::atomic<int64_t>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void on_signal(int signal) {
  if (ends_at_once) {
    constexpr std::string_view kWhy = "gradus: stopped before there was anything to save\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWhy.data(), kWhy.size());
    ::_exit(Interrupt::kUnsaved);
  }
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  if (signal == SIGHUP) return;
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now = time.tv_sec * kSecond + time.tv_nsec;
  int64_t first = 0;
  if (!asked_at.compare_exchange_strong(first, now) && now - first >= kSecond) ::_exit(Interrupt::kUnsaved);
}

}  // namespace

Interrupt::Interrupt(bool at_once) {
  first_signal = 0;
  asked_at = 0;
  ends_at_once = at_once;
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

void Interrupt::wait_for_save() { ends_at_once = false; }

int Interrupt::signal() const { return first_signal; }

}  // namespace gradus::train

#include "gradus/tools/cli/program/event_stream.hpp"

#include <signal.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "gradus/files/error.hpp"

namespace gradus::cli {

void EventStream::write(const std::string& line) {
  if (lost_) return;
  errno = 0;
  std::cout << line << '\n' << std::flush;
  check();
}

void EventStream::check() {
  if (std::cout || lost_) return;
  const int reason = errno;
  lost_ = true;
  gone_ = reason == EPIPE;
  std::cerr << "note: the standard output is gone (" << (reason ? std::strerror(reason) : "an error")
            << "); the run continues without it" << std::endl;
}

void EventStream::finish() {
  errno = 0;
  std::cout << std::flush;
  check();
  if (lost_ && !gone_)
    throw RunError("[train] the standard output must be writable, got an error; the run itself is saved.");
}

void turn_signals_of_writing_into_errors() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace gradus::cli

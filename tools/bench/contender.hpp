// Contender: a worker (worker.hpp) in a separate process, which is stopped while it is idle.
//
// A waiting process is stopped by a signal, so that its spinning threads take no core from the other side.
// Separate processes give separate peak memory. The process ends with its Contender, or with this process.
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "gradus/tools/bench/worker.hpp"

namespace gradus::bench {

/// How to start a process: the program, which is searched in PATH, its arguments, and variables that are
/// added to the environment.
struct Command {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment{};
};

class Contender {
 public:
  /// Starts the process and waits until it is ready. Throws RunError with the name if it ends before.
  Contender(std::string name, const Command& command);
  ~Contender();
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  /// Its first line, which reports that it is ready.
  const std::string& greeting() const { return greeting_; }
  /// Its answer to a line. Throws RunError if it ends instead.
  std::string ask(const std::string& line);

  Turn run(double seconds, int64_t steps);  ///< "run"
  double peak_mib();                        ///< "memory"

 private:
  std::string read_line();
  void stop();

  std::string name_;
  pid_t process_ = -1;
  int socket_ = -1;
  std::string greeting_, unread_;
};

/// The output of a command and its exit code; 127 if it cannot be started.
std::pair<std::string, int> output_of(const Command& command);

}  // namespace gradus::bench

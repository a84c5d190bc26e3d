// Contender: a worker (worker.hpp) in a process of its own, which stands still while it is not asked.
//
// A process that waits is stopped by a signal, so that threads of its that spin take no core from the one
// whose turn it is; and peak memory is nobody's but its own. It ends with its Contender, or with this
// process. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "gradus/tools/bench/turn.hpp"
#include "gradus/tools/bench/workload.hpp"

namespace gradus::bench {

/// How to start a process: the program, looked for in PATH, its arguments, and what it finds in its
/// environment beside ours.
struct Command {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment{};
};

class Contender {
 public:
  /// Starts it and waits until it is ready. Throws RunError, with the name, if that does not happen.
  Contender(std::string name, const Command& command);
  ~Contender();
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  /// The line by which it said that it was ready.
  const std::string& greeting() const { return greeting_; }
  /// Its answer to a line. Throws RunError if it ended instead.
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

/// All that a finished command wrote, and its exit code; 127 if it could not be started.
std::pair<std::string, int> output_of(const Command& command);

}  // namespace gradus::bench

// Process: another program, which ends with this one.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::cli {

/// How a process ended.
struct Ending {
  int code;    ///< the exit code, or 128 + the signal
  int signal;  ///< 0: none

  /// "with exit code 3", "by signal 9, Killed".
  std::string text() const;
};

/// Replaces this program by that of the command, which is looked for as shells do. Returns if it cannot.
void become(const std::vector<std::string>& command);

class Process {
 public:
  struct Options {
    bool own_group = true;     ///< a group, which Ctrl-C does not reach and which ends as a whole
    int end_signal = SIGKILL;  ///< ends it with this object or this program
    int in = -1, out = -1;     ///< descriptors for its standard input and output; -1: those of this program
  };

  /// Starts the command; if it cannot be executed, it ends with exit code 127. Throws RunError, naming `op`,
  /// if the system grants no process.
  Process(std::string_view op, const std::vector<std::string>& command, const Options& options);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  void send(int signal) const;
  /// How it ended, once; nothing while it runs.
  std::optional<Ending> poll();
  /// Waits for its end.
  Ending wait();

 private:
  Options options_;
  pid_t process_ = 0;  // 0: it has ended
};

}  // namespace gradus::cli

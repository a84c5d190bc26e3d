// EventStream: the standard output of a run for machines, a JSON line an event. A run goes on without it.
#pragma once

#include <string>

namespace gradus::cli {

class EventStream {
 public:
  /// Writes the line; if that cannot be done, says so once on the standard error stream and from then on
  /// writes nothing.
  void write(const std::string& line);
  /// At the end of a run: throws RunError if lines were lost that somebody waits for. A reader that has gone
  /// (`head -1`) does not.
  void finish();

 private:
  void check();
  bool lost_ = false, gone_ = false;
};

/// From here on writing to a closed pipe, or beyond the limit of a file's size, is an error of that write and
/// does not end the program.
void turn_signals_of_writing_into_errors();

}  // namespace gradus::cli

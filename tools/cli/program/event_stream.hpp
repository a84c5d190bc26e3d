// EventStream: JSON lines on the standard output, one per event. A run continues if they cannot be written.
#pragma once

#include <string>

namespace gradus::cli {

class EventStream {
 public:
  /// Writes the line. After the first failure it prints a note on the standard error stream and writes
  /// nothing more.
  void write(const std::string& line);
  /// Throws RunError, at the end of a run, if lines were lost, unless the reader has closed its end (`head
  /// -1`).
  void finish();

 private:
  void check();
  bool lost_ = false, gone_ = false;
};

/// Makes a write to a closed pipe, or beyond the limit of a file's size, fail instead of ending the program.
void turn_signals_of_writing_into_errors();

}  // namespace gradus::cli

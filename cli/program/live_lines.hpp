// LiveLines: lines at the bottom of a terminal, on the standard error stream, that are drawn again and again.
// Other text that std::cerr gets appears above them.
//
// The cursor stays visible, on the line below, and the terminal keeps its modes: whatever ends or suspends
// the program leaves the terminal usable. A program that continues after Ctrl-Z draws below the shell's
// lines, and one that continues in the background (bg) draws nothing. When a terminal becomes narrower, it
// breaks the lines; what then leaves the screen at its top stays there. At most one at a time; not
// thread-safe.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <streambuf>
#include <string>
#include <vector>

namespace gradus::cli {

class LiveLines {
 public:
  LiveLines();
  ~LiveLines();  ///< clears the lines
  LiveLines(const LiveLines&) = delete;
  LiveLines& operator=(const LiveLines&) = delete;

  /// Replaces the lines. `columns`: the present width of the terminal. The lines must be shorter than a row,
  /// and fewer than the rows.
  void draw(const std::vector<std::string>& lines, int columns);
  void clear();

 private:
  /// Clears the lines before it passes other text on.
  class Above : public std::streambuf {
   public:
    explicit Above(LiveLines& lines) : lines_(lines) {}

   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* bytes, std::streamsize count) override;
    int sync() override { return lines_.terminal_->pubsync(); }

   private:
    LiveLines& lines_;
  };

  std::string to_first_line(int columns);
  void write(const std::string& bytes);

  std::streambuf* terminal_;
  Above above_{*this};
  struct sigaction before_ {};
  bool began_in_front_;
  std::vector<int> shown_;  // the columns of each line on the screen
};

}  // namespace gradus::cli

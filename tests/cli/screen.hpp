// What a terminal shows after the bytes that a program wrote, for tests: an emulator of the escape sequences
// that gradus writes. Long lines are broken when the terminal becomes narrower.
#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

class Screen {
 public:
  Screen(int columns, int rows) : columns_(columns), rows_(rows) {}

  /// Throws std::runtime_error for an escape sequence or a control character that gradus does not write.
  void write(const std::string& bytes);
  void resize(int columns, int rows);

  /// All lines, those that have scrolled off, too, without colours and without blanks at their ends.
  std::vector<std::string> lines() const;
  bool cursor_is_below() const { return row_ + 1 == lines_.size() && column_ == 0; }  ///< below all lines
  bool wraps() const { return wraps_; }       ///< whether long lines are wrapped, as a terminal begins
  int cut() const { return cut_; }            ///< how many characters were beyond the last column
  int coloured() const { return coloured_; }  ///< how many sequences asked for a colour or a style

 private:
  void put(char32_t character);
  void put_cell(char32_t character);
  void obey(const std::string& sequence);
  size_t top() const;  // the first line on the screen

  int columns_, rows_;
  std::vector<std::u32string> lines_{U""};
  size_t row_ = 0;
  int column_ = 0, cut_ = 0, coloured_ = 0;
  bool wraps_ = true;
};

}  // namespace gradus::cli

#include "screen.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <stdexcept>

#include "gradus/files/utf8.hpp"

namespace gradus::cli {
namespace {

constexpr char32_t kRightHalf = 0;  // of a wide character

/// By the blocks that the tests use.
int width_of(char32_t c) {
  if (c >= 0x300 && c < 0x370) return 0;                                        // combining accents
  return (c >= 0x3000 && c < 0xA000) || (c >= 0x1F300 && c < 0x1FA00) ? 2 : 1;  // kana, han; emoji
}

}  // namespace

size_t Screen::top() const {
  const auto rows = static_cast<size_t>(rows_);
  return lines_.size() > rows ? lines_.size() - rows : 0;
}

void Screen::write(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    if (rest.starts_with("\033[")) {
      size_t end = 2;
      while (end < rest.size() && !std::isalpha(static_cast<unsigned char>(rest[end]))) ++end;
      obey(std::string(rest.substr(2, end - 1)));
      at += end + 1;
      continue;
    }
    const files::CodePoint c = files::first_code_point(rest);
    at += static_cast<size_t>(std::max(1, c.size));
    put(c.size == 0 ? U'\xFFFD' : c.value);
  }
}

void Screen::put(char32_t character) {
  if (character == U'\r') {
    column_ = 0;
  } else if (character == U'\n') {
    if (++row_ == lines_.size()) lines_.emplace_back();
  } else if (character < 0x20) {
    throw std::runtime_error("a control character " + std::to_string(static_cast<int>(character)));
  } else {
    for (int i = 0; i < width_of(character); ++i) put_cell(i == 0 ? character : kRightHalf);
  }
}

void Screen::put_cell(char32_t character) {
  if (column_ == columns_ && wraps_) {
    column_ = 0;
    put(U'\n');
  } else if (column_ == columns_) {
    --column_;
    ++cut_;
  }
  std::u32string& line = lines_[row_];
  line.resize(std::max(line.size(), static_cast<size_t>(column_) + 1), U' ');
  line[static_cast<size_t>(column_++)] = character;
}

void Screen::obey(const std::string& sequence) {
  std::u32string& line = lines_[row_];
  const auto column = static_cast<size_t>(column_);
  if (sequence == "K" || sequence == "J") {
    line.resize(std::min(line.size(), column));
    if (sequence == "J") lines_.resize(row_ + 1);
  } else if (sequence.back() == 'A') {
    const auto up = static_cast<size_t>(std::atoi(sequence.c_str()));
    row_ = row_ >= top() + up ? row_ - up : top();
  } else if (sequence == "?7l" || sequence == "?7h") {
    wraps_ = sequence == "?7h";
  } else if (sequence.back() == 'm') {
    coloured_ += sequence != "0m";
  } else {
    throw std::runtime_error("an unknown escape sequence " + sequence);
  }
}

void Screen::resize(int columns, int rows) {
  std::vector<std::u32string> broken;
  size_t row = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (i == row_) row = broken.size();
    for (size_t at = 0; at == 0 || at < lines_[i].size(); at += static_cast<size_t>(columns))
      broken.push_back(lines_[i].substr(at, static_cast<size_t>(columns)));
  }
  lines_ = std::move(broken);
  row_ = row;
  columns_ = columns, rows_ = rows;
}

std::vector<std::string> Screen::lines() const {
  std::vector<std::string> shown;
  for (const std::u32string& line : lines_) {
    shown.emplace_back();
    for (const char32_t c : line.substr(0, line.find_last_not_of(U' ') + 1))
      if (c != kRightHalf) shown.back() += files::to_utf8(c);
  }
  return shown;
}

}  // namespace gradus::cli

#include "gradus/tools/cli/program/table.hpp"

#include <algorithm>

namespace gradus::cli {

std::string table(const std::vector<TableRow>& rows, const std::vector<size_t>& right, size_t widest) {
  std::vector<size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::min(widest, std::max(widths[i], row[i].size()));
  }
  std::string text;
  for (const TableRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool is_right = std::find(right.begin(), right.end(), i) != right.end();
      const std::string space(widths[i] - std::min(widths[i], row[i].size()), ' ');
      text += (i == 0 ? "" : "  ") + (is_right ? space + row[i] : row[i] + space);
    }
    text.resize(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text + "\n";
}

}  // namespace gradus::cli

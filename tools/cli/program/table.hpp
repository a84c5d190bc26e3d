// Rows as a table for a terminal. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

using TableRow = std::vector<std::string>;

/// Columns are as wide as their widest cell, at most `widest`, with two blanks in between. Columns whose
/// numbers are in `right` are aligned right. An empty line ends the table.
std::string table(const std::vector<TableRow>& rows, const std::vector<size_t>& right = {},
                  size_t widest = SIZE_MAX);

}  // namespace gradus::cli

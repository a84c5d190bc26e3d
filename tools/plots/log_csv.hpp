// The logs of runs as CSV (RFC 4180, with LF), for spreadsheets and data frames. Thread-safe: no state.
#pragma once

#include <filesystem>
#include <string>

namespace gradus::plots {

/// The first line: the names of the columns.
std::string csv_header();

/// A line for each step and each evaluation in the log of a run (see read_log()). Numbers keep all digits; a
/// value that a record lacks is empty.
std::string csv_rows(const std::string& name, const std::filesystem::path& run);

}  // namespace gradus::plots

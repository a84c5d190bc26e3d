// The logs of runs as CSV (RFC 4180, with LF), for spreadsheets and data frames. Thread-safe: no state.
#pragma once

#include <string>

#include "gradus/tools/pages/report/logged_run.hpp"

namespace gradus::plots {

/// The first line: the names of the columns.
std::string csv_header();

/// A line for each step, then for each evaluation of a run. Numbers keep all digits; a value that a record
/// lacks is empty.
std::string csv_rows(const std::string& name, const pages::LoggedRun& run);

}  // namespace gradus::plots

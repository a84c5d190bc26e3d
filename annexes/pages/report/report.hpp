// The page of runs: losses, layers, samples and settings. Thread-safety: distinct threads, distinct runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gradus/annexes/pages/report/logged_run.hpp"

namespace gradus::pages {

/// The runs of these paths: a folder with a log is a run, and the folder of a sweep or of an ensemble stands
/// for the runs in it. Throws Error for a path that has none.
std::vector<LoggedRun> runs_of(const std::vector<std::filesystem::path>& paths);

/// The contents of the page, as JSON. With `is_live`, the page reloads itself: the run continues.
std::string report_json(const std::vector<LoggedRun>& runs, bool is_live = false);

/// The page of this JSON.
std::string report_html(const std::string& title, std::string json);

/// "kjv-mini", or "3 runs".
std::string report_title(const std::vector<LoggedRun>& runs);

}  // namespace gradus::pages

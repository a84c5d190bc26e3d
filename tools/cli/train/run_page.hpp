// RunPage: report.html in the folder of a run, which `train` writes after evaluations. Not thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <vector>

#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/pages/report/logged_run.hpp"

namespace gradus::cli {

class RunPage {
 public:
  explicit RunPage(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Writes the page, unless the last one is less than two seconds old. The run goes on if it cannot be
  /// written; the first failure is a note.
  void write(const Messages& messages);

 private:
  std::filesystem::path folder_;
  std::vector<pages::LoggedRun> runs_;  // one, after the first write
  std::chrono::steady_clock::time_point written_;
  bool has_failed_ = false;
};

}  // namespace gradus::cli

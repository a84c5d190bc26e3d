#include "gradus/tools/cli/train/run_page.hpp"

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/tools/pages/report/report.hpp"

namespace gradus::cli {

void RunPage::write(const Messages& messages) {
  const auto now = std::chrono::steady_clock::now();
  if (has_failed_ || (!runs_.empty() && now - written_ < std::chrono::seconds(2))) return;
  written_ = now;
  try {
    if (runs_.empty()) runs_.emplace_back(folder_);
    runs_[0].update();
    files::write_atomically(folder_ / "report.html", [&](std::ostream& out) {
      out << pages::report_html(runs_[0].name(), pages::report_json(runs_));
    });
  } catch (const std::exception& e) {
    has_failed_ = true;
    messages.line(concat("note: report.html could not be written: ", e.what()));
  }
}

}  // namespace gradus::cli

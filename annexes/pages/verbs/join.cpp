// join_pages() lets `train` write report.html.
#include "gradus/annexes/pages/frame.hpp"
#include "gradus/annexes/pages/report/report.hpp"
#include "gradus/cli/program/annexes.hpp"

namespace gradus::cli {

void join_pages(Annexes& annexes) {
  annexes.run_page = [](const std::filesystem::path& run) {
    return [runs = std::vector<pages::LoggedRun>(), run](bool is_live) mutable {
      if (runs.empty()) runs.emplace_back(run);
      runs[0].update();
      return pages::report_html(runs[0].name(), pages::report_json(runs, is_live));
    };
  };
}

}  // namespace gradus::cli

#include "gradus/train/run_folder/run_log.hpp"

#include <algorithm>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"

namespace gradus::train {
namespace {

/// The elapsed_s of the last of these records that has one; 0 if none has, as in a log of gradus 0.1.
double last_elapsed(std::string_view records) {
  while (!records.empty()) {
    const size_t end = records.size() - 1, before = records.substr(0, end).rfind('\n');
    const size_t begin = before == records.npos ? 0 : before + 1;
    const files::Json record(records.substr(begin), "metrics", "a line");
    const std::optional<files::Field> elapsed = record.root().find("elapsed_s");
    if (elapsed && elapsed->is_number()) return std::max(0.0, elapsed->number());
    records = records.substr(0, begin);
  }
  return 0;
}

}  // namespace

std::string RunLog::kept_records(const std::filesystem::path& path, int64_t step,
                                 const std::vector<std::string>& unlogged, bool is_over) {
  std::string kept = records_up_to(step, std::filesystem::exists(path) ? files::read(path) : "", is_over);
  for (const std::string& line : unlogged)
    if (kept.find(line) == kept.npos) kept += line + "\n";
  files::write_atomically(path, [&](std::ostream& out) { out << kept; });
  return kept;
}

RunLog::RunLog(const std::filesystem::path& path, const std::string& records)
    : elapsed_before_(last_elapsed(records)),
      has_end_(records.find("{\"event\":\"done\"") != records.npos),
      file_(path) {}

void RunLog::write(StepReport& report) {
  training_seconds_ += report.seconds;
  tokens_ += static_cast<double>(report.tokens);
  report.eval_seconds = eval_seconds_;
  report.eval_tokens = eval_tokens_;
  add(report);
}

void RunLog::write(EvalReport& report) {
  eval_seconds_ += report.seconds;
  eval_tokens_ += report.tokens;
  add(report);
}

void RunLog::write(LayerReport& report) { add(report); }

template <class Report>
void RunLog::add(Report& report) {
  report.elapsed = elapsed_before_ + seconds();
  add_line(to_json(report));
}

void RunLog::add_line(const std::string& line) {
  try {
    if (!failure_) return file_.add(line + "\n");
  } catch (const RunError&) {
    failure_ = std::current_exception();
  }
  unlogged_.push_back(line);
}

void RunLog::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

double RunLog::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double RunLog::tokens_per_s() const { return training_seconds_ > 0 ? tokens_ / training_seconds_ : 0; }

}  // namespace gradus::train

#include "gradus/train/run_folder/run_log.hpp"

#include "gradus/files/error.hpp"

namespace gradus::train {

void RunLog::write_step(StepReport& step) {
  training_seconds_ += step.seconds;
  tokens_ += static_cast<double>(step.tokens);
  write(step);
}

void RunLog::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

double RunLog::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

double RunLog::tokens_per_s() const { return training_seconds_ > 0 ? tokens_ / training_seconds_ : 0; }

void RunLog::add(const std::string& line) {
  try {
    if (!failure_) return file_.write(line);
  } catch (const RunError&) {
    failure_ = std::current_exception();
  }
  unlogged_.push_back(line);
}

}  // namespace gradus::train

// RunPlanner: `train --minutes`. Measures what the machine does in a few steps, plans by it (train/plan.hpp),
// and corrects the plan while the true pace shows. Not thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "gradus/tools/cli/train/progress.hpp"
#include "gradus/tools/cli/train/run_text.hpp"
#include "gradus/tools/cli/train/train_flags.hpp"
#include "gradus/train/plan.hpp"
#include "gradus/train/run.hpp"

namespace gradus::cli {

/// Tokens of the sample that a run ends with, unless it is quiet.
inline constexpr int64_t kClosingSample = 300;

class RunPlanner {
 public:
  /// The time begins now. The flags are borrowed.
  explicit RunPlanner(const TrainFlags& flags) : flags_(flags) {}

  /// The config to train: the preset, unless one was asked for, its dropout likewise, and the steps that fit.
  /// Throws Error if the text is too short for a preset's block.
  train::TrainConfig plan(const train::TrainConfig& config, const RunTokens& tokens);

  /// Called with the corrected config.
  using OnCorrected = std::function<void(const train::TrainConfig& config)>;
  /// An observer of the planned run that corrects the trainer's plan, and tells `progress`, which is
  /// borrowed, all that it is told.
  class Corrector : public train::Observer {
   public:
    Corrector(const RunPlanner& planner, const train::TrainConfig& plan, train::Trainer& trainer,
              Progress& progress, OnCorrected on_corrected)
        : plan_(plan, planner.beside_,
                [&planner] { return 60 * planner.flags_.config.minutes - planner.seconds_left(); }),
          trainer_(trainer),
          progress_(progress),
          on_corrected_(std::move(on_corrected)) {}
    void on_step(const train::StepReport& report) override;
    void before_eval() override;
    void on_eval(const train::EvalReport& report) override;
    bool should_stop() override { return progress_.should_stop(); }

   private:
    train::PlanCorrector plan_;
    train::Trainer& trainer_;
    Progress& progress_;
    OnCorrected on_corrected_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_left() const;
  /// More dropout than the preset's if the text is to be read often; it changes the pace.
  void settle_dropout(train::TrainConfig& config, const RunTokens& tokens);

  const TrainFlags& flags_;
  Clock::time_point start_ = Clock::now();
  train::BesideSteps beside_;
  train::Pace pace_;
};

}  // namespace gradus::cli

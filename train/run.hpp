// run(): the training loop of any model, from the first step to the last or until somebody asks to stop.
// Steps, evaluates, saves and reports; what is shown to people is the observer's business. Runs on the
// calling thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gradus/train/run_folder/run_folder.hpp"
#include "gradus/train/trainer/metrics.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {

/// Is told what happens, and asked between steps whether to stop. Everything may be left as it is here.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepReport&) {}    ///< after each step
  virtual void before_eval() {}                 ///< which may take as long as many steps
  virtual void on_eval(const EvalReport&) {}    ///< after each evaluation
  virtual bool should_stop() { return false; }  ///< asked after each step
};

/// Stops a run when so many of its steps are done.
class StopAfter : public Observer {
 public:
  /// Counted from the first, those before a resume included.
  explicit StopAfter(int64_t steps) : steps_(steps) {}
  void on_step(const StepReport& report) override { stop_ = report.step >= steps_; }
  bool should_stop() override { return stop_; }

 private:
  int64_t steps_;
  bool stop_ = false;
};

/// A run under way. The trainer and the folder are borrowed.
struct Run {
  Trainer& trainer;                       ///< which makes the steps
  RunFolder& folder;                      ///< locked
  ModelFiles files;                       ///< how the model is saved, and the texts beside it
  std::vector<data::Batch> validation{};  ///< empty: the newest model counts as the best
  std::string text_sha256{};              ///< kept in checkpoints
  std::optional<double> best_val_loss{};  ///< at the start
  std::optional<int64_t> saved_step{};    ///< of the state in the folder, if there is one
  int64_t evals_without_best = 0;         ///< at the start
  std::vector<std::string> unlogged{};    ///< at the start (see Checkpoint)
  /// Evaluates before the first step too: a model that has learnt already may be the best.
  bool evaluates_first = false;
};

/// Trains until the recipe's steps are done, or its patience is over: evaluates every eval_every steps and
/// after the last (and before the first, if asked to), keeps the model of the lowest loss, saves every
/// save_every steps and after the last. Stopped early it saves, so that a resumed run goes on with the same
/// bits. Throws RunError, naming the state that stays, if a loss, a parameter or a moment is not finite, or
/// the disk refuses; if that is the log or the text only, it saves first.
RunReport run(Run& run, Observer& observer);

/// Makes the run one that goes on after the state in its folder, whose parameters the model has already. If
/// the best model is missing, the next evaluation chooses a new one. Throws Error, having changed nothing,
/// for the state of another model.
void go_on(Run& run, const Checkpoint& checkpoint);

/// All of it for a model of one's own: begins in a folder that is absent or empty, or goes on with the run
/// that is there, which must be of this recipe; the number of steps may be another. Throws Error for another
/// run or other files, and as run().
RunReport fit(Trainer& trainer, const std::filesystem::path& folder,
              const std::vector<data::Batch>& validation, Observer& observer);
RunReport fit(Trainer& trainer, const std::filesystem::path& folder,
              const std::vector<data::Batch>& validation = {}, Observer&& observer = Observer());

}  // namespace gradus::train

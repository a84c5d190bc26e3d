// run(): the training loop of any model. It makes steps, evaluates, saves and writes the log; an Observer
// shows the progress and may stop the run. Runs on the calling thread.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gradus/train/run_folder/run_folder.hpp"
#include "gradus/train/trainer/metrics.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {

/// Receives the events of a run, and may stop it. Does nothing by default.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_start(const StartReport&) {}   ///< before the first step of a run or of a resume
  virtual void on_step(const StepReport&) {}     ///< after each step
  virtual void before_eval() {}                  ///< before each evaluation
  virtual void on_eval(const EvalReport&) {}     ///< after each evaluation
  virtual void on_layers(const LayerReport&) {}  ///< after the step before each evaluation
  /// After each evaluation of a run with samples.
  virtual void on_sample(int64_t step, const std::string& text) { (void)step, (void)text; }
  virtual bool should_stop() { return false; }  ///< asked after each step
};

/// Passes all events to another observer, which is borrowed.
class PassingObserver : public Observer {
 public:
  explicit PassingObserver(Observer& next) : next_(next) {}  ///< passes them to `next`
  void on_start(const StartReport& report) override { next_.on_start(report); }
  void on_step(const StepReport& report) override { next_.on_step(report); }
  void before_eval() override { next_.before_eval(); }
  void on_eval(const EvalReport& report) override { next_.on_eval(report); }
  void on_layers(const LayerReport& report) override { next_.on_layers(report); }
  void on_sample(int64_t step, const std::string& text) override { next_.on_sample(step, text); }
  bool should_stop() override { return next_.should_stop(); }

 protected:
  Observer& next_;  ///< as borrowed
};

/// Stops a run after a number of steps.
class StopAfter : public Observer {
 public:
  /// `steps` include those before a resume.
  explicit StopAfter(int64_t steps) : steps_(steps) {}
  void on_step(const StepReport& report) override { stop_ = report.step >= steps_; }
  bool should_stop() override { return stop_; }

 private:
  int64_t steps_;
  bool stop_ = false;
};

/// A run and its progress. The trainer and the folder are borrowed.
struct Run {
  Trainer& trainer;                       ///< makes the steps
  RunFolder& folder;                      ///< locked
  ModelFiles files;                       ///< how the model is saved, and the texts next to it
  std::vector<data::Batch> validation{};  ///< empty: the newest model counts as the best
  std::string text_sha256{};              ///< is kept in checkpoints
  std::optional<double> best_val_loss{};  ///< at the start
  std::optional<int64_t> saved_step{};    ///< of the state in the folder, if there is one
  int64_t evals_without_best = 0;         ///< at the start
  std::vector<std::string> unlogged{};    ///< at the start (see Checkpoint)
  /// Is logged before the first step of a run or of a resume, unless it has no machine.
  StartReport start{};
  /// A text that the model generates; each evaluation logs one. None: no texts.
  std::function<std::string()> sample{};
  /// Whether to measure the gradient of a part of a batch before each evaluation (Trainer::measure_part()).
  bool measures_part = false;
  /// Evaluates before the first step too: a pretrained model may be the best.
  bool evaluates_first = false;
};

/// Trains until the recipe's steps are done, or its budget or patience ends the run. Evaluates every
/// eval_every steps and after the last (with evaluates_first, before the first too), keeps the model of the
/// lowest loss, and saves every save_every steps and after the last. A run that the observer stops is saved,
/// and resumes with the same bits. Throws RunError, with the saved state, if a loss, a parameter or a moment
/// is not finite, or a file cannot be written. If the log cannot be written or the text cannot be read, it
/// saves the state first. On ranks other than 0 (see Trainer) it follows rank 0, and writes nothing.
RunReport run(Run& run, Observer& observer);

/// Sets a run to the checkpoint of its folder, whose parameters the model already has. If the best model is
/// missing, the next evaluation chooses a new one. Throws Error, having changed nothing, for the checkpoint
/// of another model.
void resume(Run& run, const Checkpoint& checkpoint);

/// Trains any model in a folder: begins a run if the folder is absent or empty, or resumes the run there,
/// which must have the same recipe; the number of steps may differ. Throws Error for another run or other
/// files, and as run().
RunReport fit(Trainer& trainer, const std::filesystem::path& folder,
              const std::vector<data::Batch>& validation, Observer& observer);
RunReport fit(Trainer& trainer, const std::filesystem::path& folder,
              const std::vector<data::Batch>& validation = {}, Observer&& observer = Observer());

}  // namespace gradus::train

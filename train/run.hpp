// run(): the training loop, from the first step to the last or until somebody asks to stop. Steps, evaluates,
// saves and reports; what is shown to people is the observer's business. Runs on the calling thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gradus/train/metrics.hpp"
#include "gradus/train/run_folder.hpp"
#include "gradus/train/trainer.hpp"

namespace gradus::train {

/// Is told what happens, and asked between steps whether to stop. Everything may be left as it is here.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepReport&) {}
  virtual void before_eval() {}  ///< which may take as long as many steps
  virtual void on_eval(const EvalReport&) {}
  virtual bool should_stop() { return false; }
};

/// A run under way. The trainer and the folder are borrowed.
struct Run {
  Trainer& trainer;
  RunFolder& folder;
  data::Tokenizer tokenizer;
  std::vector<data::Batch> validation;    ///< empty: the newest model counts as the best
  std::string text_sha256;                ///< kept in checkpoints
  std::optional<double> best_val_loss{};  ///< at the start
  std::optional<int64_t> saved_step{};    ///< of the state in the folder, if there is one
};

/// Trains until config().steps are done: evaluates every eval_every steps and after the last, keeps the model
/// of the lowest loss, saves every save_every steps and after the last. Stopped early it saves, so that a
/// resumed run goes on with the same bits. Throws RunError, naming the state that stays, if a loss, a
/// parameter or a moment is not finite, or the disk refuses; if that is the log only, it saves first.
RunReport run(Run& run, Observer& observer);

}  // namespace gradus::train

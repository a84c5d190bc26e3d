#include "gradus/train/run.hpp"

#include <chrono>
#include <cmath>
#include <exception>

#include "gradus/autograd/error.hpp"
#include "gradus/train/evaluate.hpp"

namespace gradus::train {
namespace {

/// Evaluates, and keeps the model if it is the best so far. Training goes on as if this had not been.
EvalReport evaluate(Run& run) {
  EvalReport report{run.trainer.steps_done(), mean_loss(run.trainer.model(), run.validation)};
  if (!std::isfinite(report.val_loss))
    throw RunError(concat("[train] the validation loss must stay finite, got ", report.val_loss,
                          " after step ", report.step, ". Hint: start anew with a lower --lr."));
  report.is_best = !run.best_val_loss || report.val_loss < *run.best_val_loss;
  if (report.is_best) {
    run.trainer.check_finite();
    run.best_val_loss = report.val_loss;
    run.folder.save_best(run.trainer.model());
  }
  return report;
}

/// Saves the state, unless it could not go on. Until an evaluation has chosen a best model, the newest stands
/// in for it.
void save(Run& run) {
  const Trainer& trainer = run.trainer;
  trainer.check_finite();
  if (!run.best_val_loss) run.folder.save_best(trainer.model());
  run.folder.save_last(trainer.model(), run.tokenizer, trainer.config(),
                       {trainer.state(), run.best_val_loss, run.text_sha256});
  run.saved_step = trainer.steps_done();
}

/// The log of a run. If it fails, what has been learnt is to be saved before the run does.
class Log {
 public:
  explicit Log(const Run& run) : file_(run.folder.metrics(), run.trainer.steps_done()) {}
  void write(const std::string& line) {
    if (failure_) return;
    try {
      file_.write(line);
    } catch (const RunError&) {
      failure_ = std::current_exception();
    }
  }
  double elapsed_before() const { return file_.elapsed_before(); }
  bool failed() const { return failure_ != nullptr; }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  MetricsLog file_;
  std::exception_ptr failure_;
};

RunReport run_steps(Run& run, Observer& observer) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Trainer& trainer = run.trainer;
  const TrainConfig& config = trainer.config();
  Log log(run);
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto elapsed = [&] { return log.elapsed_before() + seconds(); };
  double training_seconds = 0, tokens = 0;

  bool stopped = false;
  while (trainer.steps_done() < config.steps && !stopped) {
    StepReport step = trainer.step();
    step.elapsed = elapsed();
    training_seconds += step.seconds;
    tokens += static_cast<double>(step.tokens);
    log.write(to_json(step));
    observer.on_step(step);

    const bool is_last = step.step == config.steps;
    if (!run.validation.empty() && (is_last || step.step % config.eval_every == 0)) {
      observer.before_eval();
      EvalReport eval = evaluate(run);
      eval.elapsed = elapsed();
      log.write(to_json(eval));
      observer.on_eval(eval);
    }
    stopped = !is_last && (observer.should_stop() || log.failed());
    if (is_last || stopped || step.step % config.save_every == 0) save(run);
  }
  log.rethrow();
  run.folder.check_there();  // What was saved too.

  return {.steps = trainer.steps_done(),
          .val_loss = run.best_val_loss,
          .seconds = seconds(),
          .tokens_per_s = training_seconds > 0 ? tokens / training_seconds : 0,
          .finished = !stopped};
}

}  // namespace

RunReport run(Run& run, Observer& observer) {
  try {
    return run_steps(run, observer);
  } catch (const RunError& e) {
    if (!run.saved_step) throw;
    throw RunError(concat(e.what(), " What can be resumed is the state after step ", *run.saved_step, "."));
  }
}

}  // namespace gradus::train

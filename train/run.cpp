#include "gradus/train/run.hpp"

#include <chrono>
#include <cmath>

#include "gradus/autograd/error.hpp"
#include "gradus/train/evaluate.hpp"

namespace gradus::train {
namespace {

/// Evaluates, and keeps the model if it is the best so far. Training goes on as if this had not been.
EvalReport evaluate(Run& run) {
  EvalReport report{run.trainer.steps_done(), mean_loss(run.trainer.model(), run.validation)};
  if (!std::isfinite(report.val_loss))
    throw RunError(concat("[train] the validation loss must stay finite, got ", report.val_loss,
                          " after step ", report.step, ". Hint: lower --lr."));
  report.is_best = !run.best_val_loss || report.val_loss < *run.best_val_loss;
  if (report.is_best) {
    run.best_val_loss = report.val_loss;
    run.folder.save_best(run.trainer.model());
  }
  return report;
}

/// Saves the state. Until an evaluation has chosen a best model, the newest stands in for it.
void save(Run& run) {
  if (!run.best_val_loss) run.folder.save_best(run.trainer.model());
  run.folder.save_last(run.trainer.model(), run.tokenizer,
                       {run.trainer.state(), run.best_val_loss, run.text_sha256});
}

}  // namespace

RunReport run(Run& run, Observer& observer) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Trainer& trainer = run.trainer;
  const TrainConfig& config = trainer.config();
  MetricsLog log(run.folder.metrics(), trainer.steps_done());
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
    stopped = !is_last && observer.should_stop();
    if (is_last || stopped || step.step % config.save_every == 0) save(run);
  }

  return {.steps = trainer.steps_done(),
          .val_loss = run.best_val_loss,
          .seconds = seconds(),
          .tokens_per_s = training_seconds > 0 ? tokens / training_seconds : 0,
          .finished = !stopped};
}

}  // namespace gradus::train

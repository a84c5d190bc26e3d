#include "gradus/train/run.hpp"

#include <cmath>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/train/run_folder/run_log.hpp"
#include "gradus/train/trainer/evaluate.hpp"

namespace gradus::train {
namespace {

/// Evaluates, and keeps the model if it is the best so far. Training goes on as if this had not been.
EvalReport evaluate(Run& run) {
  Trainer& trainer = run.trainer;
  const AveragedWeights averaged(trainer.average());
  const Autocast autocast(trainer.recipe().precision);
  EvalReport report{.step = trainer.steps_done(),
                    .val_loss = mean_loss(trainer.model(), trainer.recipe().loss, run.validation),
                    .tokens = data::count_targets(run.validation)};
  if (!std::isfinite(report.val_loss))
    throw RunError(concat("[train] the validation loss must stay finite, got ", report.val_loss,
                          " after step ", report.step, ". Hint: start anew with a lower `lr`."));
  report.is_best = !run.best_val_loss || report.val_loss < *run.best_val_loss;
  if (report.is_best) {
    trainer.check_finite();
    run.best_val_loss = report.val_loss;
    run.folder.save_best(run.files);
  }
  run.evals_without_best = report.is_best ? 0 : run.evals_without_best + 1;
  return report;
}

/// Saves the state, unless it could not go on. Until an evaluation has chosen a best model, the newest stands
/// in for it.
void save(Run& run, const RunLog& log) {
  run.trainer.check_finite();
  if (!run.best_val_loss) run.folder.save_best(run.files);
  run.folder.save_last(run.files, {run.trainer.state(), run.best_val_loss, run.text_sha256,
                                   run.evals_without_best, log.unlogged()});
  run.saved_step = run.trainer.steps_done();
  run.folder.keep_last(*run.saved_step, run.trainer.recipe().keep);
}

/// The next one. What was learnt before is saved if the text for it cannot be read.
StepReport step(Run& run, const RunLog& log) {
  try {
    return run.trainer.step();
  } catch (const files::ReadFailed&) {
    if (run.trainer.steps_done() > run.saved_step.value_or(0)) save(run, log);
    throw;
  }
}

bool is_out_of_patience(const Run& run) {
  const int64_t patience = run.trainer.recipe().patience;
  return patience > 0 && run.evals_without_best >= patience;
}

RunReport run_steps(Run& run, Observer& observer) {
  Trainer& trainer = run.trainer;
  const Recipe& recipe = trainer.recipe();
  const auto is_over = [&] { return trainer.steps_done() >= recipe.steps || is_out_of_patience(run); };
  RunLog log(run.folder.metrics(), trainer.steps_done(), run.unlogged, is_over());
  // The log has these lines now; the state must not add them again.
  if (!run.unlogged.empty()) save(run, log);

  const auto look = [&] {
    observer.before_eval();
    EvalReport eval = evaluate(run);
    log.write(eval);
    observer.on_eval(eval);
  };
  if (run.evaluates_first && trainer.steps_done() == 0 && !run.validation.empty()) look();

  bool stopped = false;
  while (!stopped && !is_over()) {
    StepReport report = step(run, log);
    log.write_step(report);
    observer.on_step(report);

    const bool is_last = report.step == recipe.steps;
    if (!run.validation.empty() && (is_last || report.step % recipe.eval_every == 0)) look();
    stopped = !is_over() && (observer.should_stop() || log.failed());
    if (is_over() || stopped || report.step % recipe.save_every == 0) save(run, log);
  }
  log.rethrow();
  run.folder.check_there();  // What was saved too.

  return {.steps = trainer.steps_done(),
          .val_loss = run.best_val_loss,
          .val_tokens = data::count_targets(run.validation),
          .seconds = log.seconds(),
          .tokens_per_s = log.tokens_per_s(),
          .finished = !stopped,
          .is_logged = log.has_end()};
}

Recipe saved_recipe(const RunFolder& folder) {
  return folder.read_recipe([](const files::FolderSnapshot& files) {
    return recipe_from_json(files.text("train.json"), (files.folder() / "train.json").string());
  });
}

/// Is this run in its folder, ended before it saved a state? Throws Error if another is.
bool is_begun(const Run& run) {
  if (!run.folder.has_run()) return false;
  check_goes_on(run.trainer.recipe(), saved_recipe(run.folder));
  return true;
}

/// Sets the trainer and its model to the state in the folder. Throws Error if that is another run's.
void restore(Run& run) {
  (void)run.folder.verify();
  run.folder.read_last([&](const files::FolderSnapshot& state) {
    check_parameters(run.trainer.model(), state);
    return true;
  });
  check_goes_on(run.trainer.recipe(), saved_recipe(run.folder));
  const Checkpoint checkpoint = run.folder.load_last();
  if (checkpoint.trainer.step > run.trainer.recipe().steps)
    fail("train", "`steps` must be at least the ", checkpoint.trainer.step, " that are done, got ",
         run.trainer.recipe().steps, ".");
  run.folder.read_last([&](const files::FolderSnapshot& state) {
    load_parameters(run.trainer.model(), state);
    return true;
  });
  go_on(run, checkpoint);
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

void go_on(Run& run, const Checkpoint& checkpoint) {
  run.trainer.restore(checkpoint.trainer);
  run.saved_step = checkpoint.trainer.step;
  if (run.folder.has_best()) run.best_val_loss = checkpoint.best_val_loss;
  run.evals_without_best = checkpoint.evals_without_best;
  run.unlogged = checkpoint.unlogged;
  run.folder.go_on(run.files);
  run.folder.keep_last(*run.saved_step, run.trainer.recipe().keep);  // If the save was cut off before it.
}

RunReport fit(Trainer& trainer, const std::filesystem::path& folder,
              const std::vector<data::Batch>& validation, Observer& observer) {
  RunFolder run_folder(folder);
  Run whole{.trainer = trainer,
            .folder = run_folder,
            .files = model_files(trainer.model(), trainer.recipe()),
            .validation = validation};
  if (run_folder.has_last()) {
    run_folder.lock();
    restore(whole);
  } else {
    run_folder.create(whole.files, /*overwrite=*/is_begun(whole));
  }
  return run(whole, observer);
}

RunReport fit(Trainer& trainer, const std::filesystem::path& folder,
              const std::vector<data::Batch>& validation, Observer&& observer) {
  return fit(trainer, folder, validation, observer);
}

}  // namespace gradus::train

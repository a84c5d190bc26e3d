#include "gradus/train/run.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/run_folder/read_run.hpp"
#include "gradus/train/train_config.hpp"
#include "gradus/train/train_json.hpp"

namespace gradus::train {
namespace {

// -- the log

/// The elapsed_s of the newest of these records that has one; 0 if there is none.
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

/// The log without lines that are not whole records and without records of steps after `step`, which a
/// resumed run writes again, and with those of `unlogged` (see Checkpoint) that it lacks; also the content of
/// the file then. Keeps the record of the run's end after `step` if the run `is_over`.
std::string kept_records(const std::filesystem::path& path, int64_t step,
                         const std::vector<std::string>& unlogged, bool is_over) {
  std::string kept = records_up_to(step, std::filesystem::exists(path) ? files::read(path) : "", is_over);
  for (const std::string& line : unlogged)
    if (kept.find(line) == kept.npos) kept += line + "\n";
  files::write_atomically(path, [&](std::ostream& out) { out << kept; });
  return kept;
}

/// The log of a run, metrics.jsonl, and its clock. If the log cannot be written, the run first saves its
/// state with the lines that the log lacks. Not thread-safe.
class RunLog {
 public:
  /// Opens the file to append to, which has kept_records(). Throws RunError if the disk refuses.
  RunLog(const std::filesystem::path& path, const std::string& records)
      : elapsed_before_(last_elapsed(records)),
        has_end_(records.find("{\"event\":\"done\"") != records.npos),
        file_(path) {}

  /// Adds the report of a step, and sets the fields that run() sets. Each line is passed to the system
  /// immediately, so that a killed run loses none.
  void write(StepReport& report) {
    training_seconds_ += report.seconds;
    tokens_ += static_cast<double>(report.tokens);
    report.eval_seconds = eval_seconds_;
    report.eval_tokens = eval_tokens_;
    add(report);
  }
  void write(EvalReport& report) {
    eval_seconds_ += report.seconds;
    eval_tokens_ += report.tokens;
    add(report);
  }
  void write(LayerReport& report) { add(report); }
  void write(const StartReport& report) { add_line(to_json(report)); }
  /// Adds a text that the model has generated after a step.
  void write_sample(int64_t step, const std::string& text) { add_line(sample_to_json(step, text)); }

  bool has_end() const { return has_end_; }            ///< whether the log had the record of the run's end
  bool failed() const { return failure_ != nullptr; }  ///< whether a write failed
  const std::vector<std::string>& unlogged() const { return unlogged_; }  ///< the lines since then
  /// Throws the RunError of the write that failed, if one did.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Since construction.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  /// The mean speed of the steps written, without the time between steps.
  double tokens_per_s() const { return training_seconds_ > 0 ? tokens_ / training_seconds_ : 0; }

 private:
  template <class Report>
  void add(Report& report) {
    report.elapsed = elapsed_before_ + seconds();
    add_line(to_json(report));
  }
  void add_line(const std::string& line) {
    try {
      if (!failure_) return file_.add(line + "\n");
    } catch (const RunError&) {
      failure_ = std::current_exception();
    }
    unlogged_.push_back(line);
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double elapsed_before_;  // seconds of the run before a resume
  bool has_end_;
  files::AppendedFile file_;
  std::exception_ptr failure_;
  std::vector<std::string> unlogged_;
  double training_seconds_ = 0, tokens_ = 0;  // of the steps
  double eval_seconds_ = 0;
  int64_t eval_tokens_ = 0;
};

// -- the run

/// Evaluates the model and saves it if it is the best so far. The steps after it do not depend on it.
EvalReport evaluate(Run& run) {
  const auto start = std::chrono::steady_clock::now();
  Trainer& trainer = run.trainer;
  const AveragedWeights averaged(trainer.average());
  EvalReport report{.step = trainer.steps_done(),
                    .val_loss = trainer.validation_loss(run.validation),
                    .tokens = data::count_targets(run.validation)};
  if (!std::isfinite(report.val_loss))
    throw RunError("[train] the validation loss must stay finite, got ", report.val_loss, " after step ",
                   report.step, ". Hint: start a new run with a lower ", Option{"lr"}, ".");
  report.is_best = !run.best_val_loss || report.val_loss < *run.best_val_loss;
  if (report.is_best) {
    trainer.check_finite();
    run.best_val_loss = report.val_loss;
    run.folder.save_best(run.files);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  report.peak_bytes = usage.ru_maxrss * 1024;
  run.evals_without_best = report.is_best ? 0 : run.evals_without_best + 1;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

/// Saves the state, if its values are finite. Before the first evaluation the newest model is the best.
void save(Run& run, const RunLog& log) {
  const TrainerState state = run.trainer.state();
  run.trainer.check_finite();
  if (!run.best_val_loss) {
    const AveragedWeights averaged(run.trainer.average());
    run.folder.save_best(run.files);
  }
  run.folder.save_last(run.files,
                       {state, run.best_val_loss, run.text_sha256, run.evals_without_best, log.unlogged()});
  run.saved_step = run.trainer.steps_done();
  run.folder.keep_last(*run.saved_step, run.trainer.recipe().loop.keep);
}

/// Makes the next step, and measures it if `layers` is not null. If its text cannot be read, saves first.
StepReport step(Run& run, const RunLog& log, LayerReport* layers) {
  try {
    if (layers && run.measures_part) run.trainer.measure_part(*layers);
    return run.trainer.step(layers);
  } catch (const files::ReadFailed&) {
    if (run.trainer.steps_done() > run.saved_step.value_or(0)) save(run, log);
    throw;
  }
}

RunReport run_steps(Run& run, Observer& observer) {
  Trainer& trainer = run.trainer;
  const Recipe& recipe = trainer.recipe();
  const LoopOptions& loop = recipe.loop;
  const auto is_over = [&] {
    const bool is_patient = loop.patience == 0 || run.evals_without_best < loop.patience;
    return trainer.steps_done() >= loop.steps || !is_patient;
  };
  const std::filesystem::path metrics = run.folder.metrics();
  RunLog log(metrics, kept_records(metrics, trainer.steps_done(), run.unlogged, is_over()));
  if (!run.start.machine.empty() && !is_over()) {
    run.start.step = trainer.steps_done();
    log.write(run.start);
    observer.on_start(run.start);
  }
  // The log has these lines now: the state must not contain them.
  if (!run.unlogged.empty()) save(run, log);

  const auto evaluate_model = [&] {
    observer.before_eval();
    EvalReport eval = evaluate(run);
    log.write(eval);
    observer.on_eval(eval);
    if (!run.sample) return;
    const AveragedWeights averaged(trainer.average());
    const std::string text = run.sample();
    log.write_sample(eval.step, text);
    observer.on_sample(eval.step, text);
  };
  const auto evaluates_after = [&](int64_t step) {
    return !run.validation.empty() && (step == loop.steps || step % loop.eval_every == 0);
  };
  if (run.evaluates_first && trainer.steps_done() == 0 && !run.validation.empty()) evaluate_model();

  bool stopped = false;
  while (!stopped && !is_over()) {
    LayerReport layers;
    const bool is_measured = evaluates_after(trainer.steps_done() + 1);
    StepReport report = step(run, log, is_measured ? &layers : nullptr);
    log.write(report);
    if (is_measured) log.write(layers);
    if (recipe.budget && trainer.set_steps(recipe.budget(report))) run.folder.write_texts(run.files);
    observer.on_step(report);
    if (is_measured) observer.on_layers(layers);

    if (evaluates_after(report.step)) evaluate_model();
    stopped = !is_over() && (observer.should_stop() || log.failed());
    const bool is_first = is_measured && !run.saved_step;  // A best model does not wait for a state.
    if (is_over() || stopped || is_first || report.step % loop.save_every == 0) save(run, log);
  }
  log.rethrow();
  run.folder.check_there();

  return {.steps = trainer.steps_done(),
          .val_loss = run.best_val_loss,
          .val_tokens = data::count_targets(run.validation),
          .seconds = log.seconds(),
          .tokens_per_s = log.tokens_per_s(),
          .finished = !stopped,
          .is_logged = log.has_end()};
}

ModelFiles own_model_files(const Trainer& trainer) {
  return {.model =
              [&model = trainer.model()](files::FolderUpdate& update) {
                nn::save_safetensors(update, nn::kTensorFile, model.state_dict());
              },
          .recipe = [&loop = trainer.recipe().loop] { return to_json(loop); }};
}

/// Throws Error if the folder has another run.
void check_begun(const Run& run) {
  if (run.folder.has_run())
    check_resume(run.trainer.recipe().loop, read_recipe(run.folder, loop_options_from_json));
}

/// Loads the state in the folder into the trainer and its model. Throws Error for the state of another run.
void restore(Run& run) {
  (void)run.folder.verify_files();
  read_last(run.folder, [&](const files::FolderSnapshot& state) {
    std::map<std::string, Shape> saved;
    const nn::SafetensorsFile file(state.folder() / nn::kTensorFile);
    for (const nn::TensorEntry& entry : file.header().entries) saved[entry.name] = entry.shape;
    try {
      nn::compare_shapes(run.trainer.model().state_shapes(), saved);
    } catch (const Error& e) {
      fail("train", state.folder(),
           " must hold the state of this model, got that of another model: ", files::without_op(e.what()),
           " Use another folder.");
    }
  });
  check_resume(run.trainer.recipe().loop, read_recipe(run.folder, loop_options_from_json));
  const Checkpoint checkpoint = run.folder.load_last();
  if (checkpoint.trainer.step > run.trainer.recipe().loop.steps)
    fail("train", Option{"steps"}, " must be at least the ", checkpoint.trainer.step, " that are done, got ",
         run.trainer.recipe().loop.steps, ".");
  read_last(run.folder, [&](const files::FolderSnapshot& state) {
    run.trainer.model().load_state_dict(nn::load_safetensors(
        state.folder() / nn::kTensorFile, /*keep_float64=*/true, state.checksum(nn::kTensorFile)));
  });
  resume(run, checkpoint);
}

}  // namespace

RunReport run(Run& run, Observer& observer) {
  if (!run.trainer.leads()) {
    run.trainer.follow(run.validation);
    return {.steps = run.trainer.steps_done()};
  }
  try {
    return run_steps(run, observer);
  } catch (const RunError& e) {
    if (!run.saved_step) throw;
    throw RunError(e, " The state after step ", *run.saved_step, " can be resumed.");
  }
}

void resume(Run& run, const Checkpoint& checkpoint) {
  read_recipe(run.folder, check_resumable);
  run.trainer.restore(checkpoint.trainer);
  run.saved_step = checkpoint.trainer.step;
  if (run.folder.has_best()) run.best_val_loss = checkpoint.best_val_loss;
  run.evals_without_best = checkpoint.evals_without_best;
  run.unlogged = checkpoint.unlogged;
  if (!run.trainer.leads()) return;
  run.folder.write_texts(run.files);
  run.folder.keep_last(*run.saved_step,
                       run.trainer.recipe().loop.keep);  // A killed save may lack it.
}

RunReport fit(Trainer& trainer, const std::filesystem::path& folder,
              const std::vector<data::Batch>& validation, Observer& observer) {
  RunFolder run_folder(folder);
  Run whole{
      .trainer = trainer, .folder = run_folder, .files = own_model_files(trainer), .validation = validation};
  if (run_folder.has_last()) {
    if (trainer.leads()) run_folder.lock();
    restore(whole);
  } else if (trainer.leads()) {
    check_begun(whole);
    run_folder.create(whole.files, /*overwrite=*/false);
  }
  return run(whole, observer);
}

RunReport fit(Trainer& trainer, const std::filesystem::path& folder,
              const std::vector<data::Batch>& validation, Observer&& observer) {
  return fit(trainer, folder, validation, observer);
}

}  // namespace gradus::train

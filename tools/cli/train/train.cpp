// gradus train: trains a decoder on a text, from the command line to the sample at the end.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <numbers>
#include <optional>
#include <sstream>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/tensor/threads.hpp"
#include "gradus/data/corpus.hpp"
#include "gradus/data/tokenizer_files.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/cli/program/event_stream.hpp"
#include "gradus/tools/cli/program/field_flags.hpp"
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/cli/sample/prompt.hpp"
#include "gradus/tools/cli/train/init_from.hpp"
#include "gradus/tools/cli/train/introduction.hpp"
#include "gradus/tools/cli/train/progress.hpp"
#include "gradus/tools/cli/train/run_planner.hpp"
#include "gradus/tools/cli/train/run_text.hpp"
#include "gradus/tools/cli/train/train_flags.hpp"
#include "gradus/tools/cli/train/train_help.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/interrupt.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/run.hpp"
#include "gradus/train/trace.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using data::Corpus;
using train::TrainConfig;

fs::path default_out(const TrainConfig& config) {
  std::string name = config.corpus;
  if (!config.tokens.empty())
    name = fs::path(config.tokens).stem().string();
  else if (!config.text.empty())
    name = config.text.front() == "-" ? "stdin" : fs::path(config.text.front()).stem().string();
  else if (name.empty())
    name = data::kjv_available() ? "kjv" : "stories";
  if (!config.init_from.empty())
    return fs::path("out") / concat(name, "-from-", fs::path(config.init_from).filename().string());
  const bool usual = config.model.arch == train::preset(config.preset).model.arch;
  const std::string kind = config.minutes > 0 ? concat(config.minutes, "min") : config.preset;
  return fs::path("out") / concat(name, "-", kind, usual ? "" : concat("-", config.model.arch));
}

/// Will the text be there again for a run that goes on?
bool is_kept(const TrainConfig& config) {
  return std::all_of(config.text.begin(), config.text.end(), [](const std::string& file) {
    return file != "-" && (fs::is_regular_file(file) || fs::is_directory(file));
  });
}

/// One `gradus train`, set up in steps so that nothing is written before all that can be refused has been.
class TrainVerb {
 public:
  TrainVerb(TrainFlags& flags, const std::string& program)
      : flags_(flags),
        program_(program),
        folder_(flags.out.empty() ? default_out(flags.config) : fs::path(flags.out)),
        config_(flags.config),
        people_(flags.quiet),
        planner_(flags) {}

  int run() {
    turn_signals_of_writing_into_errors();
    settle_folder();
    if (flags_.threads > 0) set_num_threads(static_cast<int>(flags_.threads));

    const std::optional<data::Tokenizer> given = given_tokenizer();
    const RunText text =
        load_run_text(given ? data::TextRules::of(*given) : data::TextRules::of_kind(config_.tokenizer));
    const Corpus& corpus = text.corpus;
    const train::Checkpoint checkpoint = flags_.resume ? load_checkpoint(corpus) : train::Checkpoint{};
    if (flags_.resume) {
      const int64_t steps = config_.steps;
      config_.steps = saved_config_.steps;
      config_.change_steps(checkpoint.trainer.step, steps);
    }
    const data::Tokenizer tokenizer = given ? *given : make_tokenizer(corpus.text);
    config_.model.vocab_size = tokenizer.vocab_size();
    const RunTokens tokens(text, tokenizer, config_);
    const data::TextDataset dataset = naming_flags("train", model_flags(), [&] {
      config_.model.validate();
      if (is_planned()) config_ = planner_.plan(config_, tokens);
      return tokens.dataset(config_);
    });
    train::check_memory(train::training_memory(config_), "lower --layers, --embd, --block or --batch.");

    models::Decoder model = make_model();
    train::Trainer trainer(model, train::decoder_recipe(model, dataset.training_batches(), config_));
    train::Run run{.trainer = trainer,
                   .folder = folder_,
                   .files = train::decoder_files(model, config_, tokenizer),
                   .validation = validation(dataset, config_.eval_tokens),
                   .text_sha256 = corpus.sha256,
                   .evaluates_first = !config_.init_from.empty()};
    if (flags_.resume)
      go_on(run, checkpoint);
    else
      folder_.create(run.files, flags_.overwrite);

    bytes_a_token_ = bytes_a_token(tokenizer, dataset);
    introduce(corpus, tokenizer, dataset, trainer);
    return train(run, corpus, dataset, tokenizer);
  }

 private:
  /// About so many tokens of the validation part; 0: all of it.
  std::vector<data::Batch> validation(const data::TextDataset& dataset, int64_t tokens) const {
    const int64_t batch = train::evaluation_batch(config_.model);
    return tokens > 0 && dataset.has_validation() ? dataset.validation_sample(batch, tokens)
                                                  : dataset.validation_batches(batch);
  }

  /// Refuses a folder that cannot be used, before anything else is read; locks it if there is a run in it.
  /// Takes over the config of a resumed run.
  void settle_folder() {
    if (!flags_.resume) {
      if (!config_.init_from.empty()) check_apart(config_, folder_.path());
      folder_.check_free(flags_.overwrite);
      if (folder_.has_run()) folder_.lock();
      return;
    }
    if (folder_.has_run()) folder_.lock();
    saved_config_ = train::load_config(folder_);
    if (!folder_.has_last())
      fail("train", "--resume needs a checkpoint, got none in ", folder_.path(),
           ". Hint: --overwrite starts anew.");
    notes_ = folder_.verify();
    config_ = flags_.resumed(saved_config_);
  }

  /// One that was made before: the run's, or that of --tokenizer PATH.
  std::optional<data::Tokenizer> given_tokenizer() const {
    if (flags_.resume) return train::load_tokenizer(folder_);
    if (fs::path(config_.tokenizer).is_absolute()) return data::load_tokenizer(config_.tokenizer);
    if (!config_.tokens.empty()) return data::Tokenizer::bytes();
    return {};
  }

  /// Pairs are learnt from the part to train on; a vocabulary of characters has to have all.
  data::Tokenizer make_tokenizer(std::string_view text) {
    if (config_.tokenizer != "bpe") return data::Tokenizer::make(config_.tokenizer, text);
    const double part = static_cast<double>(text.size()) * (1.0 - config_.val_fraction);
    data::Tokenizer tokenizer =
        data::Tokenizer::make("bpe", text.substr(0, static_cast<size_t>(part)), config_.vocab);
    if (tokenizer.vocab_size() < config_.vocab)
      notes_.push_back(concat("the text has pairs for ", grouped(tokenizer.vocab_size()),
                              " tokens, fewer than --vocab ", config_.vocab));
    return tokenizer;
  }

  RunText load_run_text(const data::TextRules& rules) {
    try {
      RunText text = load_text(config_, rules);
      if (config_.text.empty() && config_.tokens.empty()) config_.corpus = text.corpus.name;
      return text;
    } catch (const RunError&) {
      throw;
    } catch (const Error& e) {
      if (!flags_.resume || config_.text != saved_config_.text || config_.tokens != saved_config_.tokens)
        throw;
      fail("train", "the text of a resumed run must be there, got: ", e.what(), " If it has moved, or came ",
           "from a pipe, --", config_.tokens.empty() ? "text" : "tokens",
           " says where it is now; it must be the same, byte for byte.");
    }
  }

  train::Checkpoint load_checkpoint(const Corpus& corpus) const {
    train::Checkpoint checkpoint = folder_.load_last();
    if (checkpoint.text_sha256 != corpus.sha256)
      fail("train", "the text of a resumed run must not change, got ", corpus.source, " with sha256 ",
           corpus.sha256.substr(0, 12), "..., where the run in ", folder_.path(), " was trained on ",
           name_of_text(saved_config_), " with ", checkpoint.text_sha256.substr(0, 12), "....");
    if (checkpoint.trainer.step > config_.steps)
      fail("train", "--steps must be at least the ", checkpoint.trainer.step, " that are done, got ",
           config_.steps, ".");
    if (flags_.stop_after > 0 && flags_.stop_after <= checkpoint.trainer.step)
      fail("train", "--stop-after must be more than the ", checkpoint.trainer.step,
           " steps that are done, got ", flags_.stop_after, ".");
    return checkpoint;
  }

  static std::string name_of_text(const TrainConfig& config) {
    if (!config.tokens.empty()) return config.tokens;
    if (config.text.empty()) return "the corpus " + config.corpus;
    return config.text.front() + (config.text.size() > 1 ? " and others" : "");
  }

  /// Nothing has been written up to here.
  void go_on(train::Run& run, train::Checkpoint checkpoint) {
    train::go_on(run, checkpoint);
    if (checkpoint.best_val_loss && !run.best_val_loss)
      notes_.push_back("the best model is missing; the next evaluation chooses a new one");
    checkpoint.best_val_loss = run.best_val_loss;
    if (train::to_json(config_) != train::to_json(saved_config_)) folder_.save_last(run.files, checkpoint);
  }

  models::Decoder make_model() const {
    if (!flags_.resume && !config_.init_from.empty()) return initial_model(config_);
    if (!flags_.resume) {
      Generator init = Generator(static_cast<uint64_t>(config_.seed)).stream("init");
      return models::Decoder(config_.model, init);
    }
    models::Decoder model = train::load_last_model(folder_);
    if (model.config() != config_.model)
      fail("train", "last/config.json and train.json must describe one model, got two in ", folder_.path(),
           ".");
    return model;
  }

  void introduce(const Corpus& corpus, const data::Tokenizer& tokenizer, const data::TextDataset& dataset,
                 const train::Trainer& trainer) {
    if (!corpus.warning.empty()) notes_.push_back(corpus.warning);
    if (!folder_.lock_warning().empty()) notes_.push_back(folder_.lock_warning());
    if (!is_kept(config_))
      notes_.push_back("the text comes from a pipe: keep it, --resume will need the same again (--text)");
    if (config_.warmup >= config_.steps)
      notes_.push_back(concat("--warmup ", config_.warmup, " is not over within --steps ", config_.steps,
                              ": the rate rises to ", config_.schedule()(config_.steps - 1),
                              ", never to --lr ", config_.lr));
    for (const std::string& note : notes_) people_.line("note: " + with_flags(note));
    people_.line(introduction(config_, corpus, tokenizer, dataset));
    people_.line(concat(
        "run     ", folder_.path().string(), ", ", num_threads(), " thread", num_threads() == 1 ? "" : "s",
        config_.precision == TrainConfig().precision ? "" : ", products in " + config_.precision,
        trainer.steps_done() > 0 ? concat(", going on after step ", trainer.steps_done()) : ""));
  }

  /// Whether the number of steps is still to be found; a run that goes on has it.
  bool is_planned() const { return config_.minutes > 0 && !flags_.resume; }

  /// Lets the run end in its time.
  train::RunReport planned_run(train::Run& run, Progress& progress) {
    if (!is_planned()) return profiled_run(run, progress);
    RunPlanner::Corrector corrector(planner_, config_, run.trainer, progress, [&](const TrainConfig& config) {
      config_ = config;
      run.files.recipe = train::to_json(config_);
      folder_.go_on(run.files);
    });
    return profiled_run(run, corrector);
  }

  int train(train::Run& run, const Corpus& corpus, const data::TextDataset& dataset,
            const data::Tokenizer& tokenizer) {
    const int64_t targets = dataset.tokens(data::Split::validation).size() - 1;
    const bool is_sample = data::count_targets(run.validation) < targets;
    train::RunReport report;
    int signal = 0;
    {
      interrupt_->wait_for_save();
      Progress progress(
          {.first_step = run.trainer.steps_done(),
           .steps = config_.steps,
           .eval_every = run.validation.empty() ? 0 : config_.eval_every,
           .eval_tokens = data::count_targets(run.validation),
           .last_eval_tokens = is_sample ? train::last_eval_tokens(config_, targets) : 0,
           .sample_every = flags_.sample_every,
           .sample = [&] { return sample_of(run, tokenizer); },
           .events = flags_.json ? &events_ : nullptr,
           .quiet = flags_.quiet,
           .should_stop =
               [&] { return interrupt_->signal() != 0 || run.trainer.steps_done() == flags_.stop_after; }});
      report = planned_run(run, progress);
      signal = interrupt_->signal();
      interrupt_.reset();
    }
    if (report.finished && is_sample) evaluate_best(report, dataset, targets);
    if (report.finished && !report.is_logged)
      files::AppendedFile(folder_.metrics()).add(train::to_json(report, folder_.path()) + "\n");
    if (report.finished) conclude(report, corpus, targets);
    if (flags_.json) events_.write(train::to_json(report, folder_.path()));
    events_.finish();
    if (report.finished) return kDone;
    people_.line(concat("stopped after step ", report.steps, " and saved; go on with: ", program_,
                        " train --out ", shell_path(folder_.path().string()), " --resume",
                        is_kept(config_) ? "" : " --text FILE"));
    return signal == 0 ? kDone : 128 + signal;
  }

  train::RunReport profiled_run(train::Run& run, train::Observer& progress) {
    if (flags_.profile.empty()) return train::run(run, progress);
    train::TraceObserver observer({flags_.profile, flags_.profile_after, flags_.profile_steps}, run.trainer,
                                  progress);
    const train::RunReport report = train::run(run, observer);
    observer.finish();
    return report;
  }

  std::string sample_of(const train::Run& run, const data::Tokenizer& tokenizer) const {
    Generator stream = Generator(static_cast<uint64_t>(config_.seed)).stream("sample");
    std::ostringstream text;
    write_sample(static_cast<const models::Decoder&>(run.trainer.model()), tokenizer, "",
                 {.max_new_tokens = 120, .temperature = 0.8}, stream, text);
    return text.str();
  }

  /// The report gets the loss of the best model on the whole validation part, or as much as there is time
  /// for, unless the text has been changed since.
  void evaluate_best(train::RunReport& report, const data::TextDataset& dataset, int64_t targets) const {
    if (!report.val_loss) return;
    people_.line("evaluating the best model");
    models::Decoder best = train::load_trained(folder_.path()).model;
    std::vector<data::Batch> batches;
    try {
      batches = validation(dataset, train::last_eval_tokens(config_, targets));
    } catch (const files::ReadFailed& e) {
      return people_.line(concat("note: the whole validation text could not be read: ", e.what()));
    }
    const Autocast autocast(train::precision_from(config_.precision));
    report.val_loss = train::mean_loss(best, batches);
    report.val_tokens = data::count_targets(batches);
  }

  void conclude(const train::RunReport& report, const Corpus& corpus, int64_t targets) {
    if (flags_.quiet) return;
    people_.line(concat("\ndone    ", steps_text(report.steps), ", ", duration(report.seconds), ", ",
                        short_number(report.tokens_per_s), " tokens/s"));
    if (report.val_loss)
      people_.line(concat("loss    ", decimals(*report.val_loss, 4), " nats a token on ",
                          report.val_tokens < targets ? concat(grouped(report.val_tokens), " of the ",
                                                               grouped(targets), " tokens of ")
                                                      : "",
                          "the validation text, ",
                          decimals(*report.val_loss / std::numbers::ln2 / bytes_a_token_, 4), " bits a byte",
                          corpus.entropy ? concat("; the best possible is ",
                                                  decimals(*corpus.entropy * bytes_a_token_, 4), " nats")
                                         : ""));
    show_sample();
    const std::string out = folder_.path().string(), prompt = example_prompt(corpus.text);
    people_.line(concat("\nmodel   ", out,
                        "/model.safetensors (the best), with config.json and tokenizer.json\n", "log     ",
                        out, "/metrics.jsonl, a line a step\n", "state   ", out,
                        "/last, to go on from with --resume\n", "more    ", program_, " sample ",
                        shell_path(out), prompt.empty() ? "" : " --prompt " + shell_word(prompt),
                        flags_.profile.empty() ? "" : "\nprofile " + flags_.profile));
  }

  /// Some text of the best model; on the standard output unless that is for machines.
  void show_sample() {
    const auto [best, tokenizer] = train::load_trained(folder_.path());
    Generator stream = Generator(static_cast<uint64_t>(config_.seed)).stream("sample");
    files::PlainBuffer plain(*std::cerr.rdbuf());
    std::ostream people(&plain);
    std::ostream& out = flags_.json ? people : std::cout;
    people_.line("sample\n");
    write_sample(best, tokenizer, "", {.max_new_tokens = kClosingSample, .temperature = 0.8}, stream, out);
    out << std::endl;
  }

  std::optional<train::Interrupt> interrupt_{std::in_place, /*at_once=*/true};  // until all is saved
  TrainFlags& flags_;
  const std::string& program_;
  train::RunFolder folder_;
  TrainConfig config_, saved_config_;
  People people_;
  std::vector<std::string> notes_;
  double bytes_a_token_ = 1;  // of the text to validate on
  EventStream events_;
  RunPlanner planner_;
};

}  // namespace

Action add_train(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<TrainFlags>();
  flags->add_to(verb);
  verb.footer(train_footer(program));
  return {[&verb, flags, &program] {
            flags->settle(verb);
            return TrainVerb(*flags, program).run();
          },
          /*checks_output=*/true};
}

}  // namespace gradus::cli

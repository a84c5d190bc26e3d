// gradus train: trains a decoder on a text, from the command line to the sample at the end.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <sstream>

#include "field_flags.hpp"
#include "gradus/autograd/error.hpp"
#include "gradus/autograd/kernels/parallel.hpp"
#include "gradus/data/corpus.hpp"
#include "gradus/files/plain_buffer.hpp"
#include "gradus/models/gpt2_files.hpp"
#include "gradus/train/evaluate.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/run.hpp"
#include "gradus/train/trace.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "prompt.hpp"
#include "shell.hpp"
#include "text_input.hpp"
#include "text_output.hpp"
#include "train_flags.hpp"
#include "verbs.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using data::Corpus;
using train::TrainConfig;

constexpr const char* kTrainFooter =
    "Presets: tiny   2 layers, 2 heads,  32 wide, block   32;    300 steps of 16 windows: seconds\n"
    "         nano   4 layers, 4 heads, 128 wide, block   64;   2000 steps of 12: a few minutes (default)\n"
    "         small  6 layers, 6 heads, 384 wide, block  256;   5000 steps of 64, dropout 0.2: hours\n"
    "         gpt2  12 layers, 12 heads, 768 wide, block 1024; 100000 steps of 4 x 8: the shape of GPT-2\n"
    "Flags win over the config file, which wins over the preset.\n\nExamples:\n";

fs::path default_out(const TrainConfig& config) {
  std::string name = config.corpus;
  if (!config.text.empty())
    name = fs::path(config.text.front()).stem().string();
  else if (name.empty())
    name = data::kjv_available() ? "kjv" : "stories";
  return fs::path("out") / (name + "-" + config.preset);
}

/// One `gradus train`, set up in steps so that nothing is written before all that can be refused has been.
class TrainVerb {
 public:
  TrainVerb(TrainFlags& flags, const std::string& program)
      : flags_(flags),
        program_(program),
        folder_(flags.out.empty() ? default_out(flags.config) : fs::path(flags.out)),
        config_(flags.config),
        people_(flags.quiet) {}

  int run() {
    settle_folder();
    if (flags_.threads > 0) set_num_threads(static_cast<int>(flags_.threads));

    const Corpus corpus = load_text(config_, flags_.resume ? data::TextRules::of(folder_.load_tokenizer())
                                                           : data::TextRules::of_kind(config_.tokenizer));
    if (config_.text.empty()) config_.corpus = corpus.name;
    const train::Checkpoint checkpoint = flags_.resume ? load_checkpoint(corpus.sha256) : train::Checkpoint{};
    const data::Tokenizer tokenizer =
        flags_.resume ? folder_.load_tokenizer() : data::Tokenizer::make(config_.tokenizer, corpus.text);
    config_.model.vocab_size = tokenizer.vocab_size();
    const data::TextDataset dataset = naming_flags("train", model_flags(), [&] {
      config_.model.validate();
      return data::TextDataset(tokenizer.encode(corpus.text), config_.model.block_size, config_.val_fraction);
    });
    train::check_memory(models::training_memory(config_.model, config_.batch),
                        "lower --layers, --embd, --block or --batch.");

    models::GPT model = make_model();
    const auto next_batch = [&](int64_t batch, Generator& stream) {
      return dataset.random_batch(data::Split::train, batch, stream);
    };
    train::Trainer trainer(model, next_batch, config_);
    if (flags_.resume) {
      trainer.restore(checkpoint.trainer);
      folder_.save_config(config_);
    } else {
      folder_.create(config_, tokenizer);
    }

    introduce(corpus, dataset, model, trainer);
    train::Run run{.trainer = trainer,
                   .folder = folder_,
                   .tokenizer = tokenizer,
                   .validation = dataset.validation_batches(train::evaluation_batch(config_.model)),
                   .text_sha256 = corpus.sha256,
                   .best_val_loss = checkpoint.best_val_loss};
    return train(run, corpus);
  }

 private:
  /// Refuses a folder that cannot be used, before anything is read; takes over the config of a resumed run.
  void settle_folder() {
    if (!flags_.resume) return folder_.check_free(flags_.overwrite);
    config_ = flags_.resumed(folder_.load_config());
    if (!folder_.has_last())
      fail("train", "--resume needs a checkpoint, got none in ", folder_.path(),
           ". Hint: --overwrite starts anew.");
  }

  train::Checkpoint load_checkpoint(const std::string& text_sha256) const {
    train::Checkpoint checkpoint = folder_.load_last();
    if (checkpoint.text_sha256 != text_sha256)
      fail("train", "the text of a resumed run must not change, got another one than the run in ",
           folder_.path(), " has.");
    if (checkpoint.trainer.step > config_.steps)
      fail("train", "--steps must be at least the ", checkpoint.trainer.step, " that are done, got ",
           config_.steps, ".");
    return checkpoint;
  }

  models::GPT make_model() const {
    if (!flags_.resume) {
      Generator init = Generator(static_cast<uint64_t>(config_.seed)).stream("init");
      return models::GPT(config_.model, init);
    }
    models::GPT model = folder_.load_last_model();
    if (model.config() != config_.model)
      fail("train", "last/config.json and train.json must describe one model, got two in ", folder_.path(),
           ".");
    return model;
  }

  void introduce(const Corpus& corpus, const data::TextDataset& dataset, const models::GPT& model,
                 const train::Trainer& trainer) {
    if (!corpus.warning.empty()) people_.line("note: " + corpus.warning);
    if (config_.warmup >= config_.steps)
      people_.line(concat("note: --warmup ", config_.warmup, " is not over within --steps ", config_.steps,
                          ": the rate rises to ", config_.schedule()(config_.steps - 1), ", never to --lr ",
                          config_.lr));
    people_.line(concat("text    ", corpus.source, ": ", grouped(static_cast<int64_t>(corpus.text.size())),
                        " bytes, ", config_.model.vocab_size, " different ", config_.tokenizer, "s"));
    people_.line(concat("split   ", grouped(static_cast<int64_t>(dataset.tokens(data::Split::train).size())),
                        " tokens to train on, ",
                        grouped(static_cast<int64_t>(dataset.tokens(data::Split::validation).size())),
                        " to validate on"));
    people_.line(concat("model   ", config_.preset, ": ", config_.model.n_layer, " layers, ",
                        config_.model.n_head, " heads, ", config_.model.n_embd, " wide, block ",
                        config_.model.block_size, "; ", grouped(model.num_parameters()), " parameters"));
    people_.line(concat("memory  about ",
                        byte_size(models::training_memory(config_.model, config_.batch).total()),
                        ", beside text and evaluations"));
    people_.line(concat(
        "run     ", folder_.path().string(), ", ", num_threads(), " thread", num_threads() == 1 ? "" : "s",
        trainer.steps_done() > 0 ? concat(", going on after step ", trainer.steps_done()) : ""));
  }

  int train(train::Run& run, const Corpus& corpus) {
    train::RunReport report;
    int signal = 0;
    {
      const Interrupt interrupt;
      Progress progress({.first_step = run.trainer.steps_done(),
                         .steps = config_.steps,
                         .json = flags_.json,
                         .quiet = flags_.quiet,
                         .should_stop = [&] {
                           return interrupt.signal() != 0 || run.trainer.steps_done() == flags_.stop_after;
                         }});
      report = profiled_run(run, progress);
      signal = interrupt.signal();
    }
    if (report.finished) conclude(report, corpus);
    if (flags_.json) std::cout << train::to_json(report, folder_.path()) << std::endl;
    if (!std::cout) throw RunError("[train] the standard output must be writable, got an error.");
    if (report.finished) return kDone;
    people_.line(concat("stopped after step ", report.steps, " and saved; go on with: ", program_,
                        " train --out ", shell_path(folder_.path().string()), " --resume"));
    return signal == 0 ? kDone : 128 + signal;
  }

  train::RunReport profiled_run(train::Run& run, Progress& progress) {
    if (flags_.profile.empty()) return train::run(run, progress);
    train::TraceObserver observer({flags_.profile, flags_.profile_after, flags_.profile_steps}, run.trainer,
                                  progress);
    const train::RunReport report = train::run(run, observer);
    observer.finish();
    return report;
  }

  void conclude(const train::RunReport& report, const Corpus& corpus) {
    if (flags_.quiet) return;
    people_.line(concat("\ndone    ", grouped(report.steps), " steps, ", duration(report.seconds), ", ",
                        short_number(report.tokens_per_s), " tokens/s"));
    if (report.val_loss)
      people_.line(
          concat("loss    ", decimals(*report.val_loss, 4), " nats a token on the validation text",
                 corpus.entropy ? concat("; the best possible is ", decimals(*corpus.entropy, 4)) : ""));
    show_sample();
    const std::string out = folder_.path().string(), prompt = example_prompt(corpus.text);
    people_.line(concat("\nmodel   ", out, "/model.safetensors (the best), with config.json and vocab.json\n",
                        "log     ", out, "/metrics.jsonl, a line a step\n", "state   ", out,
                        "/last, to go on from with --resume\n", "more    ", program_, " sample ",
                        shell_path(out), prompt.empty() ? "" : " --prompt " + shell_word(prompt),
                        flags_.profile.empty() ? "" : "\nprofile " + flags_.profile));
  }

  /// Some text of the best model; on the standard output unless that is for machines.
  void show_sample() {
    const models::GPT best = models::load_pretrained(folder_.path());
    const data::Tokenizer tokenizer = folder_.load_tokenizer();
    Generator stream = Generator(static_cast<uint64_t>(config_.seed)).stream("sample");
    files::PlainBuffer plain(*std::cerr.rdbuf());
    std::ostream people(&plain);
    std::ostream& out = flags_.json ? people : std::cout;
    people_.line("sample\n");
    write_sample(best, tokenizer, "", {.max_new_tokens = 300, .temperature = 0.8}, stream, out);
    out << std::endl;
  }

  TrainFlags& flags_;
  const std::string& program_;
  train::RunFolder folder_;
  TrainConfig config_;
  People people_;
};

}  // namespace

Verb add_train(CLI::App& app, const std::string& program) {
  CLI::App* verb = app.add_subcommand("train", "Train a decoder on a text and show a sample");
  auto flags = std::make_shared<TrainFlags>();
  flags->add_to(*verb);
  verb->footer(concat(kTrainFooter, "  ", program, " train --preset tiny --corpus stories\n  ", program,
                      " train --text my.txt --out out/my --steps 5000 --dropout 0.1\n  ", program,
                      " train --out out/my --resume"));
  return {verb,
          [verb, flags, &program] {
            flags->settle(*verb);
            return TrainVerb(*flags, program).run();
          },
          /*checks_output=*/true};
}

}  // namespace gradus::cli

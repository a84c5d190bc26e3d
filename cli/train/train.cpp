// gradus train: trains a decoder on a text, from the command line to the sample at the end.
#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numbers>
#include <optional>
#include <sstream>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/cli/program/annexes.hpp"
#include "gradus/cli/program/machine.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/cli/train/members.hpp"
#include "gradus/cli/train/prepare_run.hpp"
#include "gradus/cli/train/progress.hpp"
#include "gradus/cli/train/ranks.hpp"
#include "gradus/cli/train/run_planner.hpp"
#include "gradus/cli/train/run_text.hpp"
#include "gradus/cli/train/teaching.hpp"
#include "gradus/cli/train/train_flags.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/foreign_formats.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/stored/adapter.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/interrupt.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/trace.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::cli {
namespace {

using train::TrainConfig;

constexpr int64_t kLoggedSample = 64;  // tokens, after each evaluation

/// Whether the run writes files for TensorBoard: on request, and if it is resumed and has some.
bool writes_event_files(const TrainFlags& flags) {
  return flags.tensorboard || (flags.resume && std::filesystem::exists(run_path(flags) / "tensorboard"));
}

/// Whether evaluations during the run read a part of the validation split only.
bool evaluates_sample(const PreparedRun& prepared) {
  return data::count_targets(prepared.run.validation) < prepared.dataset->validation_targets();
}

/// "mini, llama: 4 layers, ...": the start and the shape of the model.
std::string model_text(const TrainConfig& config) {
  const models::DecoderConfig& model = config.model;
  return concat(config.init_from.empty() ? config.preset : config.init_from,
                model.arch == models::DecoderConfig{}.arch ? "" : concat(", ", model.arch), ": ",
                models::sizes(model), "; ", grouped(model.num_parameters()), " parameters");
}

/// Describes text, split, model, memory, plan and folder, without the last line end.
std::string introduction(const PreparedRun& prepared) {
  const TrainConfig& config = prepared.config();
  const models::DecoderConfig& model = config.model;
  const data::Tokenizer& tokenizer = prepared.tokenizer;
  const int64_t training_tokens = prepared.dataset->tokens(data::Split::train).size(),
                steps_done = prepared.trainer->steps_done();
  const std::string size = config.tokens.empty()
                               ? concat(grouped(static_cast<int64_t>(prepared.corpus.text.size())), " bytes")
                               : "token numbers";
  const std::string kind = tokenizer.kind() == "bpe"
                               ? concat("byte pairs of ", grouped(tokenizer.vocab_size()), " tokens")
                               : concat(tokenizer.vocab_size(), " different ",
                                        tokenizer.kind() == "char" ? "characters" : "bytes");
  std::string lines = concat(
      "text    ", prepared.corpus.source, ": ", size, ", ", kind, "\nsplit   ", grouped(training_tokens),
      " tokens to train on, ", grouped(prepared.dataset->tokens(data::Split::validation).size()),
      " to validate on\nmodel   ", model_text(config), "\nmemory  about ",
      byte_size(train::training_memory(config).total()), ", without text and evaluations");
  if (config.minutes > 0)
    lines += concat("\nplan    ", steps_text(config.steps), " in ", config.minutes,
                    config.minutes == 1 ? " minute" : " minutes", ", dropout ", model.dropout,
                    ": the text is read ",
                    decimals(static_cast<double>(config.steps) * train::tokens_per_step(config) /
                                 static_cast<double>(training_tokens),
                             1),
                    " times; corrected on the way");
  return lines +
         concat("\nrun     ", prepared.folder->path().string(), ", ", num_threads(), " thread",
                num_threads() == 1 ? "" : "s",
                prepared.ranks > 1 ? concat(" on each of ", prepared.ranks, " ranks") : "",
                config.precision == DType::float32 ? "" : ", products in " + train::word(config.precision),
                steps_done > 0 ? concat(", resumed after step ", steps_done) : "", "\npage    ",
                (prepared.folder->path() / "report.html").string(), ", which follows the run in a browser");
}

/// The record of the machine and the model in the log.
train::StartReport start_of(const PreparedRun& prepared) {
  const Machine machine = this_machine();
  return {.version = GRADUS_VERSION,
          .machine = concat(machine.cpu, ", ", num_threads(), num_threads() == 1 ? " thread" : " threads",
                            ", ", machine.level, machine.units.empty() ? "" : " with " + machine.units, ", ",
                            machine.blas, ", products in ", train::word(prepared.config().precision)),
          .model = model_text(prepared.config()),
          .bytes_per_token = prepared.bytes_per_token};
}

/// report.html in the folder of a run, if the program has the annex of pages. Until the end of this object
/// the page reloads itself.
class RunPage {
 public:
  RunPage(std::filesystem::path folder, const Messages& messages)
      : folder_(std::move(folder)),
        messages_(messages),
        page_(annexes().run_page ? annexes().run_page(folder_) : nullptr) {}
  ~RunPage() {
    std::error_code ignored;
    if (std::filesystem::exists(folder_ / "metrics.jsonl", ignored)) write(/*is_live=*/false);
  }
  RunPage(const RunPage&) = delete;
  RunPage& operator=(const RunPage&) = delete;

  /// Writes the page at most once in two seconds, for a run that goes on. The first failure prints a note,
  /// the run continues, and nothing more is written.
  void write(bool is_live = true) {
    const auto now = std::chrono::steady_clock::now();
    if (!page_ || (is_live && now - written_ < std::chrono::seconds(2))) return;
    written_ = now;
    try {
      files::write_atomically(folder_ / "report.html", [&](std::ostream& out) { out << page_(is_live); });
    } catch (const std::exception& e) {
      page_ = nullptr;
      messages_.line(concat("note: report.html could not be written: ", e.what()));
    }
  }

 private:
  std::filesystem::path folder_;
  const Messages& messages_;
  std::function<std::string(bool is_live)> page_;  // null without the annex of pages, or after a failure
  std::chrono::steady_clock::time_point written_;
};

train::RunReport train_model(const TrainFlags& flags, PreparedRun& prepared,
                             const train::Interrupt& interrupt, EventStream& events, RunPage& page) {
  train::Trainer& trainer = *prepared.trainer;
  const auto sample = [&](int64_t tokens) {
    std::ostringstream text;
    write_run_sample(*prepared.model, prepared.tokenizer, *prepared.dataset, prepared.run.validation,
                     prepared.config().seed, tokens, text);
    return text.str();
  };
  prepared.run.start = start_of(prepared);
  prepared.run.sample = [&] { return sample(kLoggedSample); };
  prepared.run.measures_part = true;
  const bool is_sample = evaluates_sample(prepared);
  Progress progress(
      trainer,
      {.eval_tokens = data::count_targets(prepared.run.validation),
       .last_eval_tokens =
           is_sample ? train::last_eval_tokens(prepared.config(), prepared.dataset->validation_targets()) : 0,
       .sample_every = flags.sample_every,
       .sample =
           [&] {
             const train::AveragedWeights averaged(trainer.average());
             return sample(120);
           },
       .evaluated = [&] { page.write(); },
       .events = flags.json ? &events : nullptr,
       .quiet = flags.quiet,
       .should_stop = [&] { return interrupt.signal() != 0 || trainer.steps_done() == flags.stop_after; }});
  std::optional<FileWriter> tensorboard;
  if (writes_event_files(flags))
    tensorboard =
        annexes().event_files(prepared.folder->path() / "tensorboard", trainer.steps_done(), progress);
  train::Observer& observer = tensorboard ? *tensorboard->observer : progress;
  std::optional<train::TraceObserver> trace;
  if (!flags.profile.empty())
    trace.emplace(train::TraceOptions{flags.profile, flags.profile_after, flags.profile_steps}, trainer,
                  observer);
  const train::RunReport report = train::run(prepared.run, trace ? *trace : observer);
  if (tensorboard) tensorboard->finish();
  if (trace) trace->finish();
  return report;
}

/// The report gets the loss of the best model on the whole validation split, or on the part that the time
/// allows, unless the text was changed during the run.
void evaluate_best(const PreparedRun& prepared, models::Decoder& best, train::RunReport& report,
                   const Messages& messages) {
  const TrainConfig& config = prepared.config();
  const int64_t tokens = train::last_eval_tokens(config, prepared.dataset->validation_targets());
  std::vector<data::Batch> batches;
  try {
    batches = validation_batches(*prepared.dataset, config.model, tokens);
  } catch (const files::ReadFailed& e) {
    return messages.line(concat("note: the whole validation text could not be read: ", e.what()));
  }
  const Autocast autocast(config.precision);
  report.val_loss = train::mean_loss(best, batches);
  report.val_tokens = data::count_targets(batches);
}

void print_summary(const TrainFlags& flags, const PreparedRun& prepared, const train::TrainedModel& best,
                   const train::RunReport& report, const std::string& program, const Messages& messages) {
  const data::Corpus& corpus = prepared.corpus;
  const double bytes = prepared.bytes_per_token;
  const int64_t targets = prepared.dataset->validation_targets();
  messages.line(concat("\ndone    ", steps_text(report.steps), ", ", duration(report.seconds), ", ",
                       short_number(report.tokens_per_s), " tokens/s"));
  if (report.val_loss)
    messages.line(concat(
        "loss    ", decimals(*report.val_loss, 4), " nats a token on ",
        report.val_tokens < targets
            ? concat(grouped(report.val_tokens), " of the ", grouped(targets), " tokens of ")
            : "",
        "the validation text, ", decimals(*report.val_loss / std::numbers::ln2 / bytes, 4), " bits a byte",
        corpus.entropy ? concat("; the best possible is ", decimals(*corpus.entropy * bytes, 4), " nats")
                       : ""));
  write_last_sample(messages, flags.json, [&](std::ostream& out) {
    write_run_sample(best.model, best.tokenizer, *prepared.dataset, prepared.run.validation,
                     prepared.config().seed, kClosingSample, out);
  });
  const std::string folder = prepared.folder->path().string();
  messages.line(concat(
      "\nmodel   ", folder, prepared.config().lora > 0 ? "/adapter_model.safetensors" : "/model.safetensors",
      " (the best), with config.json and tokenizer.json\n", "log     ", folder,
      "/metrics.jsonl, a line a step\n", "state   ", folder, "/last; --resume continues from it\n",
      "more    ", program, prepared.dataset->has_examples() ? " chat " : " sample ", shell_path(folder),
      flags.profile.empty() ? "" : "\nprofile " + flags.profile));
}

/// The best model of a run. If adapters are trained, the run's model gets the best ones.
train::TrainedModel best_model(const PreparedRun& prepared) {
  const std::filesystem::path& folder = prepared.folder->path();
  const TrainConfig& config = prepared.config();
  if (config.lora == 0) return train::load_trained(folder);
  files::read_folder(folder, [&](const files::FolderSnapshot& files) {
    models::add_adapter(*prepared.model, files, config.init_from, models::weights_checksum);
  });
  return {*prepared.model, prepared.tokenizer};
}

/// Evaluates the best model of a finished run, logs the end and prints a summary.
void conclude(const TrainFlags& flags, const PreparedRun& prepared, train::RunReport& report,
              const std::string& program, const Messages& messages) {
  const train::RunFolder& folder = *prepared.folder;
  const bool evaluates = report.val_loss && evaluates_sample(prepared);
  if (evaluates) messages.line("evaluating the best model");
  std::optional<train::TrainedModel> best;
  if (evaluates || !flags.quiet) best = best_model(prepared);
  if (evaluates) evaluate_best(prepared, best->model, report, messages);
  if (!report.is_logged)
    files::AppendedFile(folder.metrics()).add(train::to_json(report, folder.path()) + "\n");
  if (!flags.quiet) print_summary(flags, prepared, *best, report, program, messages);
}

int train_verb(const TrainFlags& flags, const std::string& program) {
  const auto start = std::chrono::steady_clock::now();
  if (writes_event_files(flags) && !annexes().event_files)
    files::refuse_format("train", "the format of TensorBoard");
  if (flags.threads > 0) set_num_threads(static_cast<int>(flags.threads));
  turn_closed_pipes_into_errors();
  std::optional<train::Interrupt> interrupt(std::in_place, /*at_once=*/true);
  const int64_t members = members_of(flags);
  if (members > 1) check_parts(flags, "--members");
  if (const std::optional<TaughtRun> taught = taught_run(flags, members, start))
    return train_taught(flags, *taught, start, program, *interrupt);
  if (members > 1) return train_members(flags, members, start, program, interrupt);
  const std::unique_ptr<train::Communicator> ranks = join_ranks(flags.ranks, flags.threads);
  const Messages messages(flags.quiet || (ranks && ranks->rank() > 0));
  PreparedRun prepared = prepare_run(flags, ranks.get(), start);
  if (!prepared.trainer->leads()) {
    interrupt->wait_for_save();  // rank 0 decides when the run ends
    prepared.trainer->follow(prepared.run.validation);
    return kDone;
  }
  const std::string folder = prepared.folder->path().string();
  for (const std::string& note : prepared.notes) messages.line("note: " + note);
  messages.line(introduction(prepared));

  EventStream events;
  RunPage page(prepared.folder->path(), messages);
  interrupt->wait_for_save();
  train::RunReport report = train_model(flags, prepared, *interrupt, events, page);
  const int signal = interrupt->signal();
  interrupt.reset();

  prepared.trainer.reset();  // the other ranks stop following
  if (report.finished) conclude(flags, prepared, report, program, messages);
  if (flags.json) events.write(train::to_json(report, folder));
  events.finish();
  if (report.finished) return kDone;
  messages.line(concat("stopped after step ", report.steps, " and saved; resume with: ", program,
                       " train --out ", shell_path(folder), " --resume",
                       prepared.text_is_kept ? "" : " --text FILE"));
  return signal == 0 ? kDone : 128 + signal;
}

}  // namespace

Action add_train(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<TrainFlags>();
  flags->add_to(verb);
  verb.footer(train_footer(program));
  return {[&verb, flags, &program] {
            flags->settle(verb);
            return train_verb(*flags, program);
          },
          /*checks_output=*/true};
}

}  // namespace gradus::cli

#include "gradus/cli/train/prepare_run.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/train/init_from.hpp"
#include "gradus/cli/train/ranks.hpp"
#include "gradus/cli/train/run_planner.hpp"
#include "gradus/data/chat.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/run_folder/read_run.hpp"
#include "gradus/train/train_json.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using data::Corpus;
using train::TrainConfig;
using Clock = std::chrono::steady_clock;

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

std::string text_name(const TrainConfig& config) {
  if (!config.tokens.empty()) return config.tokens;
  if (config.text.empty()) return "the corpus " + config.corpus;
  return config.text.front() + (config.text.size() > 1 ? " and others" : "");
}

/// The config of the run in the folder, which --resume continues; none for a new run. Refuses a folder that
/// cannot be used before anything else is read, and locks it if there is a run in it.
std::optional<TrainConfig> open_folder(const TrainFlags& flags, bool leads, train::RunFolder& folder) {
  if (!flags.resume) {
    if (!leads) return {};
    check_apart(flags, folder.path());
    folder.check_free(flags.overwrite);
    if (folder.has_run()) folder.lock();
    return {};
  }
  if (leads && folder.has_run()) folder.lock();
  TrainConfig saved = train::load_config(folder);
  if (!folder.has_last())
    fail("train", "--resume needs a checkpoint, got none in ", folder.path(),
         ". Hint: --overwrite starts a new run.");
  saved.model.attention = read_last(folder, [](const files::FolderSnapshot& last) {
    return models::load_config(last).attention;  // no settings
  });
  return saved;
}

/// `hint`: if the folder is not there.
data::Tokenizer tokenizer_of_teacher(const TrainConfig& config, const char* hint) {
  if (!fs::exists(config.teacher))
    fail("train", "--teacher must be the folder of a model or an ensemble, got ", config.teacher,
         ", which is not there.", hint);
  return train::load_tokenizer(config.teacher, {});
}

/// The tokenizer of the model or the files that the run begins with; none if it is made from the text.
std::optional<data::Tokenizer> known_tokenizer(const TrainConfig& config) {
  if (!config.init_from.empty()) return train::load_tokenizer(config.init_from, config.tokenizer);
  if (!config.teacher.empty()) return tokenizer_of_teacher(config, "");
  if (fs::path(config.tokenizer).is_absolute()) return data::load_tokenizer(config.tokenizer);
  if (!config.tokens.empty()) return data::Tokenizer::bytes();
  return {};
}

/// Byte pairs are learned from the training split; a vocabulary of characters has those of both splits.
data::Tokenizer make_tokenizer(const RunText& text, const TrainConfig& config) {
  const std::string_view all = text.corpus.text;
  if (config.tokenizer != "bpe") return data::Tokenizer::make(config.tokenizer, concat(all, text.validation));
  const auto part = static_cast<size_t>(static_cast<double>(all.size()) * (1.0 - config.val_fraction));
  return data::Tokenizer::make("bpe", all.substr(0, text.training_bytes.value_or(part)), config.vocab);
}

/// Refuses flags that have no effect on this text or on a tokenizer that is not made from it.
void check_effects(const TrainFlags& flags, const RunText& text, bool makes_tokenizer) {
  for (const train::Setting& row : train::settings()) {
    if (!flags.is_given(row.key)) continue;
    if (row.has(text.examples ? train::Setting::kOfTexts : train::Setting::kOfExamples))
      fail("train", "--", row.key, text.examples ? " must be left out with" : " must come with",
           " a --text of JSONL, got ", text.corpus.source, ".");
  }
  if (flags.is_given("chat-tokens") && !makes_tokenizer && !flags.resume)
    fail("train", "--chat-tokens must come with a tokenizer that is made from the text, got another.");
}

struct RunInput {
  RunText text;
  data::Tokenizer tokenizer;
};

/// Reads the text, and makes its tokenizer unless it is known. Sets the corpus and the size of the
/// vocabulary.
RunInput read_input(const TrainFlags& flags, const std::optional<data::Tokenizer>& known, TrainConfig& config,
                    std::vector<std::string>& notes) {
  RunText text =
      load_text(config, known ? data::TextRules::of(*known) : data::TextRules::of_kind(config.tokenizer));
  check_effects(flags, text, !known);
  if (config.text.empty() && config.tokens.empty()) config.corpus = text.corpus.name;
  if (flags.plans_vocab()) config.vocab = train::planned_vocab(static_cast<double>(text.corpus.text.size()));
  data::Tokenizer tokenizer = known ? *known : make_tokenizer(text, config);
  if (!known && tokenizer.vocab_size() < config.vocab && !flags.plans_vocab())
    notes.push_back(concat("the text has pairs for ", grouped(tokenizer.vocab_size()),
                           " tokens, fewer than --vocab ", config.vocab));
  if (!known && (config.chat_tokens || text.examples)) tokenizer = data::with_chat(tokenizer);
  config.model.vocab_size = tokenizer.vocab_size();
  return {std::move(text), std::move(tokenizer)};
}

/// The same for a run that is resumed, whose text was read before.
RunInput read_input_again(const TrainFlags& flags, const data::Tokenizer& known, const TrainConfig& saved,
                          TrainConfig& config, std::vector<std::string>& notes) {
  try {
    return read_input(flags, known, config, notes);
  } catch (const RunError&) {
    throw;
  } catch (const Error& e) {
    if (config.text != saved.text || config.tokens != saved.tokens) throw;
    fail("train", "the text of a resumed run must be there, got: ", files::without_op(e.what()),
         " If it has moved, or came from a pipe, --", config.tokens.empty() ? "text" : "tokens",
         " gives its new place; it must be the same, byte for byte.");
  }
}

/// Reads the checkpoint that a run resumes from, and makes the steps of the config count from it.
train::Checkpoint load_checkpoint(const TrainFlags& flags, const train::RunFolder& folder,
                                  const TrainConfig& saved, const Corpus& corpus, TrainConfig& config) {
  train::Checkpoint checkpoint = folder.load_last();
  const int64_t done = checkpoint.trainer.step;
  if (checkpoint.text_sha256 != corpus.sha256)
    fail("train", "the text of a resumed run must not change, got ", corpus.source, " with sha256 ",
         corpus.sha256.substr(0, 12), "..., where the run in ", folder.path(), " was trained on ",
         text_name(saved), " with ", checkpoint.text_sha256.substr(0, 12), "....");
  if (done > config.steps)
    fail("train", "--steps must be at least the ", done, " that are done, got ", config.steps, ".");
  if (flags.stop_after > 0 && flags.stop_after <= done)
    fail("train", "--stop-after must be more than the ", done, " steps that are done, got ", flags.stop_after,
         ".");
  const int64_t steps = std::exchange(config.steps, saved.steps);
  config.change_steps(done, steps);
  return checkpoint;
}

models::Decoder resumed_adapters(const train::RunFolder& folder, const TrainConfig& config) {
  std::error_code ignored;
  if (!fs::exists(config.init_from, ignored))
    fail("train", "--init-from must be the model that the run in ", folder.path(), " began with, got ",
         config.init_from, ", which is not there. Hint: if it has moved, give its new place.");
  return read_last(folder, [&](const files::FolderSnapshot& state) {
    models::DecoderConfig whole = config.model;
    whole.block_size = models::load_config(state).block_size;
    return models::load_with_adapter(config.init_from, state, whole, train::dtype_of(config.weights));
  });
}

models::Decoder make_model(const TrainConfig& config, const train::RunFolder* resumed) {
  if (!resumed && !config.init_from.empty()) return initial_model(config);
  if (!resumed) {
    Generator init = Generator(static_cast<uint64_t>(config.seed)).stream("init");
    return models::Decoder(config.model, init);
  }
  models::Decoder model =
      config.lora > 0 ? resumed_adapters(*resumed, config) : train::load_last_model(*resumed);
  models::DecoderConfig trained = model.config();
  trained.block_size = std::min(trained.block_size, config.model.block_size);  // that of the windows
  if (trained.reduced() != config.model.reduced())
    fail("train", "last/config.json and train.json must describe one model, got two in ", resumed->path(),
         ".");
  return model;
}

void resume(train::Run& run, train::Checkpoint checkpoint, bool has_other_settings,
            std::vector<std::string>& notes) {
  train::resume(run, checkpoint);
  if (!run.trainer.leads()) return;
  if (checkpoint.best_val_loss && !run.best_val_loss)
    notes.emplace_back("the best model is missing; the next evaluation chooses a new one");
  checkpoint.best_val_loss = run.best_val_loss;
  if (has_other_settings) run.folder.save_last(run.files, checkpoint);
}

void add_notes(const TrainConfig& config, const Corpus& corpus, const train::RunFolder& folder,
               bool text_is_kept, std::vector<std::string>& notes) {
  for (const std::string& warning : {corpus.warning, folder.lock_warning()})
    if (!warning.empty()) notes.push_back(warning);
  if (!text_is_kept)
    notes.emplace_back("the text comes from a pipe: keep it, --resume will need the same again (--text)");
  if (config.warmup >= config.steps)
    notes.push_back(concat("--warmup ", config.warmup, " is not over within --steps ", config.steps,
                           ": the rate rises to ", config.schedule()(config.steps - 1), ", never to --lr ",
                           config.lr));
}

}  // namespace

RunTokens read_tokens(const TrainFlags& flags, TrainConfig& config) {
  std::vector<std::string> notes;
  const RunInput input = read_input(flags, known_tokenizer(config), config, notes);
  return {input.text, input.tokenizer, config};
}

bool is_kept(const std::string& path) {
  return path.empty() ||
         (path != "-" && (!fs::exists(path) || fs::is_regular_file(path) || fs::is_directory(path)));
}

void check_apart(const TrainFlags& flags, const fs::path& out) {
  const fs::path to = fs::weakly_canonical(out), teachers = to / train::RunFolder::kTeachers;
  const auto is_own = [&](const std::string& folder) { return fs::weakly_canonical(folder) == teachers; };
  for (const auto& [flag, folder] : {std::pair("--init-from", flags.config.init_from),
                                     {"--adapter", flags.config.adapter},
                                     {"--teacher", flags.config.teacher}}) {
    const fs::path from = fs::weakly_canonical(folder);
    if (!is_own(folder) && std::mismatch(to.begin(), to.end(), from.begin(), from.end()).first == to.end())
      fail("train", "--out must be another folder than that of ", flag, ", got ", out, " for both.");
  }
  if (!flags.overwrite && !is_own(flags.config.teacher) && train::RunFolder(teachers).can_resume())
    fail("train", "--out must be new, got ", out,
         ", which has teachers. Hint: --resume continues the run, --overwrite replaces it.");
}

fs::path run_path(const TrainFlags& flags) {
  return flags.out.empty() ? default_out(flags.config) : fs::path(flags.out);
}

// All checks that can fail come before anything is written.
PreparedRun prepare_run(const TrainFlags& flags, train::Communicator* ranks, Clock::time_point start) {
  const bool leads = !ranks || ranks->rank() == 0;
  auto folder = std::make_unique<train::RunFolder>(run_path(flags));
  const std::optional<TrainConfig> saved = open_folder(flags, leads, *folder);
  const train::RunFolder* const resumed = saved ? folder.get() : nullptr;
  std::vector<std::string> notes;
  if (saved) notes = folder->verify_files();

  TrainConfig config = saved ? flags.resumed(*saved) : flags.config;
  auto [text, tokenizer] =
      saved ? read_input_again(flags, train::load_tokenizer(*folder), *saved, config, notes)
            : read_input(flags, known_tokenizer(config), config, notes);
  const train::Checkpoint checkpoint =
      saved ? load_checkpoint(flags, *folder, *saved, text.corpus, config) : train::Checkpoint{};
  const bool learns = !config.teacher.empty() && (!saved || checkpoint.trainer.step < config.steps);
  if (learns &&
      data::tokenizer_files(tokenizer) !=
          data::tokenizer_files(tokenizer_of_teacher(config, " Hint: if it has moved, give its new place.")))
    fail("train", "--teacher must have the tokenizer of the run, got another in ", config.teacher, ".");
  const RunTokens tokens(text, tokenizer, config);
  config.model.validate();
  compare_ranks(ranks, config, text.corpus.sha256);
  std::shared_ptr<train::TimeBudget> budget;  // a resumed run has its number of steps
  if (config.minutes > 0 && !saved) {
    const std::string plan = on_leader(ranks, [&] {
      budget = plan_run(flags, config, tokens, ranks ? ranks->size() : 1, start);
      return train::to_json(budget->plan());
    });
    config = budget ? budget->plan() : train::train_config_from_json(plan);
    config.model.vocab_size = tokenizer.vocab_size();
  }

  auto dataset = std::make_unique<data::TextDataset>(tokens.dataset(config));
  TrainConfig of_steps = config;
  if (!learns) of_steps.teacher.clear();  // A finished run does not need it.
  train::check_memory(train::training_memory(of_steps), "lower --layers, --embd, --block or --batch.");
  auto model = std::make_unique<models::Decoder>(make_model(config, resumed));
  notes.insert(notes.end(), tokens.notes().begin(), tokens.notes().end());
  train::Recipe recipe = train::decoder_recipe(*model, train::training_batches(*dataset, config), of_steps);
  train::ModelFiles files = train::decoder_files(*model, config, tokenizer);
  if (budget) {
    recipe.budget = [budget](const train::StepReport& report) { return budget->steps(report); };
    recipe.schedule = [budget](int64_t step) { return budget->plan().schedule()(step); };
    files.recipe = [budget] { return train::to_json(budget->plan()); };
  }
  auto trainer = std::make_unique<train::Trainer>(*model, std::move(recipe), ranks);
  train::Run run{.trainer = *trainer,
                 .folder = *folder,
                 .files = std::move(files),
                 .validation = validation_batches(*dataset, config.model, config.eval_tokens),
                 .text_sha256 = text.corpus.sha256,
                 .evaluates_first = !config.init_from.empty()};
  if (saved)
    resume(run, checkpoint, train::to_json(config) != train::to_json(*saved), notes);
  else if (leads)
    folder->create(run.files, flags.overwrite);
  const bool text_is_kept = std::ranges::all_of(config.text, is_kept) && is_kept(config.val_text);
  add_notes(config, text.corpus, *folder, text_is_kept, notes);
  const double bytes = bytes_per_token(tokenizer, *dataset);
  return {.initial_config = std::move(config),
          .corpus = std::move(text.corpus),
          .tokenizer = std::move(tokenizer),
          .dataset = std::move(dataset),
          .bytes_per_token = bytes,
          .text_is_kept = text_is_kept,
          .budget = std::move(budget),
          .model = std::move(model),
          .trainer = std::move(trainer),
          .folder = std::move(folder),
          .run = std::move(run),
          .notes = std::move(notes),
          .ranks = ranks ? ranks->size() : 1};
}

std::vector<data::Batch> validation_batches(const data::TextDataset& dataset,
                                            const models::DecoderConfig& model, int64_t tokens) {
  const int64_t batch = train::evaluation_batch(model);
  return tokens > 0 && dataset.has_validation() ? dataset.validation_sample(batch, tokens)
                                                : dataset.validation_batches(batch);
}

}  // namespace gradus::cli

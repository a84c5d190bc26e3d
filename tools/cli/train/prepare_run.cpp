#include "gradus/tools/cli/train/prepare_run.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/data/chat.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/adapter.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/train/init_from.hpp"
#include "gradus/tools/cli/train/ranks.hpp"
#include "gradus/tools/cli/train/run_planner.hpp"
#include "gradus/tools/cli/train/run_text.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/mpi/mpi.hpp"
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

bool is_kept(const std::string& file) {
  return file != "-" && (fs::is_regular_file(file) || fs::is_directory(file));
}

/// The order of its steps: all checks that can fail come before anything is written.
class Preparation {
 public:
  Preparation(const TrainFlags& flags, train::Communicator* ranks, Clock::time_point start)
      : start_(start),
        flags_(flags),
        ranks_(ranks),
        folder_(std::make_unique<train::RunFolder>(run_path(flags))),
        config_(flags.config) {}

  int64_t members() {
    const std::optional<data::Tokenizer> known = known_tokenizer();
    const RunText text = read_text(rules_of(known));
    const RunTokens tokens(text, settle_tokenizer(known, text), config_);
    return train::planned_members(epochs_in_time(flags_, config_, tokens, start_), num_threads());
  }

  PreparedRun prepare() {
    check_folder();
    if (flags_.threads > 0) set_num_threads(static_cast<int>(flags_.threads));

    const std::optional<data::Tokenizer> known = known_tokenizer();
    RunText text = read_text(rules_of(known));
    const train::Checkpoint checkpoint = flags_.resume ? load_checkpoint(text.corpus) : train::Checkpoint{};
    if (flags_.resume) {
      const int64_t steps = config_.steps;
      config_.steps = saved_config_.steps;
      config_.change_steps(checkpoint.trainer.step, steps);
    }
    data::Tokenizer tokenizer = settle_tokenizer(known, text);
    const RunTokens tokens(text, tokenizer, config_);
    config_.model.validate();
    compare_ranks(ranks_, config_, text.corpus.sha256);
    std::shared_ptr<train::TimeBudget> budget;  // a resumed run has its number of steps
    if (config_.minutes > 0 && !flags_.resume) {
      const int64_t vocab_size = config_.model.vocab_size;
      const std::string plan = on_leader(ranks_, [&] {
        budget = plan_run(flags_, config_, tokens, ranks_ ? ranks_->size() : 1, start_);
        return train::to_json(budget->plan());
      });
      config_ = budget ? budget->plan() : train::train_config_from_json(plan);
      config_.model.vocab_size = vocab_size;
    }
    auto dataset = std::make_unique<data::TextDataset>(tokens.dataset(config_));
    train::check_memory(train::training_memory(config_), "lower --layers, --embd, --block or --batch.");

    auto model = std::make_unique<models::Decoder>(make_model());
    notes_.insert(notes_.end(), tokens.notes().begin(), tokens.notes().end());
    train::Recipe recipe = train::decoder_recipe(*model, train::training_batches(*dataset, config_), config_);
    train::ModelFiles files = train::decoder_files(*model, config_, tokenizer);
    if (budget) {
      recipe.budget = [budget](const train::StepReport& report) { return budget->steps(report); };
      recipe.schedule = [budget](int64_t step) { return budget->plan().schedule()(step); };
      files.recipe = [budget] { return train::to_json(budget->plan()); };
    }
    auto trainer = std::make_unique<train::Trainer>(*model, std::move(recipe), ranks_);
    train::Run run{.trainer = *trainer,
                   .folder = *folder_,
                   .files = std::move(files),
                   .validation = validation_batches(*dataset, config_.model, config_.eval_tokens),
                   .text_sha256 = text.corpus.sha256,
                   .evaluates_first = !config_.init_from.empty()};
    if (flags_.resume)
      resume(run, checkpoint);
    else if (leads())
      folder_->create(run.files, flags_.overwrite);
    const bool text_is_kept = std::all_of(config_.text.begin(), config_.text.end(), is_kept);
    add_notes(text.corpus, text_is_kept);
    const double bytes = bytes_per_token(tokenizer, *dataset);
    return {.initial_config = std::move(config_),
            .corpus = std::move(text.corpus),
            .tokenizer = std::move(tokenizer),
            .dataset = std::move(dataset),
            .bytes_per_token = bytes,
            .text_is_kept = text_is_kept,
            .budget = std::move(budget),
            .model = std::move(model),
            .trainer = std::move(trainer),
            .folder = std::move(folder_),
            .run = std::move(run),
            .notes = std::move(notes_),
            .ranks = ranks_ ? ranks_->size() : 1};
  }

 private:
  bool leads() const { return !ranks_ || ranks_->rank() == 0; }

  /// Refuses a folder that cannot be used before anything else is read, and locks it if there is a run in it.
  /// Sets the config of a resumed run.
  void check_folder() {
    if (!flags_.resume) {
      if (!leads()) return;
      if (!config_.init_from.empty()) check_apart(config_, folder_->path());
      folder_->check_free(flags_.overwrite);
      if (folder_->has_run()) folder_->lock();
      return;
    }
    if (leads() && folder_->has_run()) folder_->lock();
    saved_config_ = train::load_config(*folder_);
    if (!folder_->has_last())
      fail("train", "--resume needs a checkpoint, got none in ", folder_->path(),
           ". Hint: --overwrite starts a new run.");
    saved_config_.model.attention = folder_->read_last([](const files::FolderSnapshot& last) {
      return models::load_config(last).attention;  // no settings
    });
    notes_ = folder_->verify();
    config_ = flags_.resumed(saved_config_);
  }

  /// The tokenizer of a resumed run or of --tokenizer PATH; none if it is made from the text.
  std::optional<data::Tokenizer> known_tokenizer() const {
    if (flags_.resume) return train::load_tokenizer(*folder_);
    if (!config_.init_from.empty()) return train::load_tokenizer(config_.init_from, config_.tokenizer);
    if (fs::path(config_.tokenizer).is_absolute()) return data::load_tokenizer(config_.tokenizer);
    if (!config_.tokens.empty()) return data::Tokenizer::bytes();
    return {};
  }

  data::TextRules rules_of(const std::optional<data::Tokenizer>& known) const {
    return known ? data::TextRules::of(*known) : data::TextRules::of_kind(config_.tokenizer);
  }

  /// The known tokenizer, or one that is made from the text. Sets the size of the vocabulary.
  data::Tokenizer settle_tokenizer(const std::optional<data::Tokenizer>& known, const RunText& text) {
    if (flags_.plans_vocab())
      config_.vocab = train::planned_vocab(static_cast<double>(text.corpus.text.size()));
    data::Tokenizer tokenizer = known ? *known : make_tokenizer(text.corpus.text);
    if (!known && (config_.chat_tokens || !text.examples.empty())) tokenizer = data::with_chat(tokenizer);
    config_.model.vocab_size = tokenizer.vocab_size();
    return tokenizer;
  }

  /// Byte pairs are learned from the training split; a vocabulary of characters has those of both splits.
  data::Tokenizer make_tokenizer(std::string_view text) {
    if (config_.tokenizer != "bpe") return data::Tokenizer::make(config_.tokenizer, text);
    const double part = static_cast<double>(text.size()) * (1.0 - config_.val_fraction);
    data::Tokenizer tokenizer =
        data::Tokenizer::make("bpe", text.substr(0, static_cast<size_t>(part)), config_.vocab);
    if (tokenizer.vocab_size() < config_.vocab && !flags_.plans_vocab())
      notes_.push_back(concat("the text has pairs for ", grouped(tokenizer.vocab_size()),
                              " tokens, fewer than --vocab ", config_.vocab));
    return tokenizer;
  }

  RunText read_text(const data::TextRules& rules) {
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
           " gives its new place; it must be the same, byte for byte.");
    }
  }

  train::Checkpoint load_checkpoint(const Corpus& corpus) const {
    train::Checkpoint checkpoint = folder_->load_last();
    if (checkpoint.text_sha256 != corpus.sha256)
      fail("train", "the text of a resumed run must not change, got ", corpus.source, " with sha256 ",
           corpus.sha256.substr(0, 12), "..., where the run in ", folder_->path(), " was trained on ",
           text_name(saved_config_), " with ", checkpoint.text_sha256.substr(0, 12), "....");
    if (checkpoint.trainer.step > config_.steps)
      fail("train", "--steps must be at least the ", checkpoint.trainer.step, " that are done, got ",
           config_.steps, ".");
    if (flags_.stop_after > 0 && flags_.stop_after <= checkpoint.trainer.step)
      fail("train", "--stop-after must be more than the ", checkpoint.trainer.step,
           " steps that are done, got ", flags_.stop_after, ".");
    return checkpoint;
  }

  void resume(train::Run& run, train::Checkpoint checkpoint) {
    train::resume(run, checkpoint);
    if (!leads()) return;
    if (checkpoint.best_val_loss && !run.best_val_loss)
      notes_.push_back("the best model is missing; the next evaluation chooses a new one");
    checkpoint.best_val_loss = run.best_val_loss;
    if (train::to_json(config_) != train::to_json(saved_config_)) folder_->save_last(run.files, checkpoint);
  }

  models::Decoder make_model() const {
    if (!flags_.resume && !config_.init_from.empty()) return initial_model(config_);
    if (!flags_.resume) {
      Generator init = Generator(static_cast<uint64_t>(config_.seed)).stream("init");
      return models::Decoder(config_.model, init);
    }
    models::Decoder model = config_.lora > 0 ? resumed_adapters() : train::load_last_model(*folder_);
    models::DecoderConfig trained = model.config();
    trained.block_size = std::min(trained.block_size, config_.model.block_size);  // that of the windows
    if (trained != config_.model)
      fail("train", "last/config.json and train.json must describe one model, got two in ", folder_->path(),
           ".");
    return model;
  }

  models::Decoder resumed_adapters() const {
    std::error_code ignored;
    if (!fs::is_directory(config_.init_from, ignored))
      fail("train", "--init-from must be the folder of the model that the run in ", folder_->path(),
           " began with, got ", config_.init_from,
           ", which is not there. Hint: if it has moved, give its new place.");
    return folder_->read_last([&](const files::FolderSnapshot& state) {
      models::DecoderConfig whole = config_.model;
      whole.block_size = models::load_config(state).block_size;
      return models::load_with_adapter(config_.init_from, state, whole,
                                       train::weights_dtype(config_.weights));
    });
  }

  void add_notes(const Corpus& corpus, bool text_is_kept) {
    if (!corpus.warning.empty()) notes_.push_back(corpus.warning);
    if (!folder_->lock_warning().empty()) notes_.push_back(folder_->lock_warning());
    if (!text_is_kept)
      notes_.push_back("the text comes from a pipe: keep it, --resume will need the same again (--text)");
    if (config_.warmup >= config_.steps)
      notes_.push_back(concat("--warmup ", config_.warmup, " is not over within --steps ", config_.steps,
                              ": the rate rises to ", config_.schedule()(config_.steps - 1),
                              ", never to --lr ", config_.lr));
  }

  const Clock::time_point start_;
  const TrainFlags& flags_;
  train::Communicator* ranks_;
  std::unique_ptr<train::RunFolder> folder_;
  TrainConfig config_, saved_config_;
  std::vector<std::string> notes_;
};

}  // namespace

int64_t planned_members(const TrainFlags& flags, Clock::time_point start) {
  constexpr double kLeastMinutes = 0.5;  // below, reading the text a second time takes too much of them
  const auto& text = flags.config.text;
  const bool is_single = flags.resume || flags.ranks > 0 || mpi::is_launched() || flags.stop_after > 0 ||
                         !flags.profile.empty() || !flags.config.init_from.empty() ||
                         std::find(text.begin(), text.end(), "-") != text.end();
  if (is_single || flags.config.minutes < kLeastMinutes) return 1;
  return Preparation(flags, nullptr, start).members();
}

fs::path run_path(const TrainFlags& flags) {
  return flags.out.empty() ? default_out(flags.config) : fs::path(flags.out);
}

PreparedRun prepare_run(const TrainFlags& flags, train::Communicator* ranks, Clock::time_point start) {
  return Preparation(flags, ranks, start).prepare();
}

std::vector<data::Batch> validation_batches(const data::TextDataset& dataset,
                                            const models::DecoderConfig& model, int64_t tokens) {
  const int64_t batch = train::evaluation_batch(model);
  return tokens > 0 && dataset.has_validation() ? dataset.validation_sample(batch, tokens)
                                                : dataset.validation_batches(batch);
}

}  // namespace gradus::cli

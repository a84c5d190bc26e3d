#include "gradus/tools/cli/train/train_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/data/corpus.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/tools/cli/program/arch_flag.hpp"
#include "gradus/tools/cli/program/choices.hpp"
#include "gradus/tools/cli/program/config_file.hpp"
#include "gradus/tools/cli/program/field_flags.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/program/whole_number.hpp"
#include "gradus/tools/cli/train/init_from.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::cli {
namespace {

template <class T>
void add(CLI::App& verb, const char* group, const char* name, T& value, const char* unit, const char* help) {
  CLI::Option* option = verb.add_option(name, value, help)->group(group)->type_name(unit);
  if constexpr (!is_list<T>) option->take_last();
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, std::vector<int64_t>>)
    whole_number(verb, option);
  if constexpr (!std::is_same_v<T, std::string> && !is_list<T>) option->capture_default_str();
}

/// A flag whose value must be one of a few words; which ones the config's own check says.
CLI::Option* add_choice(CLI::App& verb, const char* group, const char* name, std::string& value,
                        Choices words, const char* help) {
  return choices(verb.add_option(name, value, help), std::move(words))
      ->group(group)
      ->type_name("NAME")
      ->take_last()
      ->default_str(value);
}

void add_switch(CLI::App& verb, const char* group, const char* name, bool& value, const char* help) {
  verb.add_flag(name, value, help)->group(group);
}

std::string printed(const std::string& value) { return value; }
template <class T>
std::string printed(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += concat(text.empty() ? "" : " ", value);
  return text.empty() ? "empty" : text;
}
template <class T>
std::string printed(const T& value) {
  return concat(std::boolalpha, value);
}

/// The shape of the model is checked by another library, which names fields in other ways.
void check(const train::TrainConfig& config) {
  try {
    config.validate();
  } catch (const Error& e) {
    throw Error(with_flags(with_flags(e.what()), "train", model_flags()));
  }
}

constexpr int64_t kPairTokens = 4096;
constexpr const char* kAuto = "auto";

std::vector<std::string> precision_choices() {
  std::vector<std::string> names = train::precision_names();
  names.emplace_back(kAuto);
  return names;
}

bool is_tokenizer_kind(const std::string& name) {
  const std::vector<std::string> kinds = data::Tokenizer::kinds();
  return std::find(kinds.begin(), kinds.end(), name) != kinds.end();
}

/// From the root on, without a slash at its end.
std::string whole_path(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() || !whole.has_relative_path() ? whole : whole.parent_path();
}

}  // namespace

void TrainFlags::add_to(CLI::App& verb) {
  constexpr const char *kText = "Text", *kModel = "Model", *kLearning = "Learning", *kRun = "Run",
                       *kOutput = "Output";
  auto& c = config;
  add(verb, kText, "--text", c.text, "FILE",
      "Train on these files, joined in order; of a folder on its\n.txt files; - is the standard input");
  add(verb, kText, "--text-weights", c.text_weights, "F",
      "For each of them: how often it is read, beside the others");
  add(verb, kText, "--tokens", c.tokens, "FILE",
      "Or on token numbers of 16 bits, nanoGPT's .bin; needs\n--tokenizer");
  add(verb, kText, "--val-tokens", c.val_tokens, "FILE", "And validate on these");
  add_choice(verb, kText, "--corpus", c.corpus, data::corpus_names,
             "Or on kjv (the King James text) or stories [kjv if it can be had]");
  add_choice(verb, kText, "--tokenizer", c.tokenizer, data::Tokenizer::kinds,
             "char, for text in UTF-8; byte, for any file; bpe, byte pairs\n"
             "learnt from the text; or the path of a tokenizer")
      ->type_name("NAME|FROM");
  whole_number(verb, verb.add_option("--vocab", c.vocab, "Tokens of bpe [4096]"))
      ->group(kText)
      ->type_name("N")
      ->take_last();
  add(verb, kText, "--val-fraction", c.val_fraction, "F", "Part of the text, at its end, to validate on");

  add_choice(verb, kModel, "--preset", c.preset, models::preset_names,
             (listed(models::preset_names()) + ":\nsets all below (see the end)").c_str());
  add_arch_flag(verb, [&c](const std::string& arch) { c.model.arch = arch; })
      ->group(kModel)
      ->default_str(c.model.arch);
  verb.add_option("--init-from", c.init_from, "Begin with the model in that folder, of gradus or others")
      ->group(kModel)
      ->type_name("DIR")
      ->take_last();
  add(verb, kModel, "--layers", c.model.n_layer, "N", "Blocks");
  add(verb, kModel, "--heads", c.model.n_head, "N", "Heads of attention; must divide the width");
  add(verb, kModel, "--embd", c.model.n_embd, "N", "Width");
  add(verb, kModel, "--block", c.model.block_size, "TOKENS", "Longest context");
  add(verb, kModel, "--dropout", c.model.dropout, "P", "Probability of dropping a value");
  add_switch(verb, kModel, "--bias,!--no-bias", c.model.bias, "Biases in linear layers and norms [gpt2: on]");
  add(verb, kModel, "--kv-heads", c.model.n_kv_head, "N",
      "llama: heads of keys and values; must divide --heads; 0: as many");
  add(verb, kModel, "--hidden", c.model.n_inner, "N",
      "llama: width inside the MLP; 0: 8/3 of --embd, rounded up to 32");
  add(verb, kModel, "--rope-theta", c.model.rope_theta, "F", "llama: base of the rotary positions");
  add_switch(verb, kModel, "--qk-norm,!--no-qk-norm", c.model.qk_norm,
             "llama: norms of queries and keys, as in Qwen3 [on]");
  add_switch(verb, kModel, "--tied,!--untied", c.model.tie_word_embeddings,
             "The output matrix is the token embedding [on]");

  add(verb, kModel, "--norm-eps", c.model.norm_eps, "F", "Added to the variance in norms");

  add(verb, kLearning, "--steps", c.steps, "N", "Updates of the parameters");
  add(verb, kLearning, "--earlier-steps", c.earlier_steps, "N",
      "Pairs DONE PLANNED, as train.json has them: steps below DONE have\nthe rates of a run of PLANNED "
      "steps");
  add(verb, kLearning, "--minutes", c.minutes, "F", "Instead: as many as fit, of a model that suits them");
  add(verb, kLearning, "--batch", c.batch, "N", "Windows of text in a micro-batch");
  add(verb, kLearning, "--accum", c.accum, "N", "Micro-batches a step");
  add(verb, kLearning, "--lr", c.lr, "RATE", "Highest learning rate");
  add(verb, kLearning, "--min-lr", c.min_lr, "RATE", "Last learning rate; follows --lr in proportion");
  add(verb, kLearning, "--warmup", c.warmup, "STEPS", "Steps in which the rate rises");
  add_choice(verb, kLearning, "--decay", c.decay, train::decay_names,
             "How the rate falls: cosine, linear, constant or wsd");
  add(verb, kLearning, "--cooldown", c.cooldown, "F", "Part of the steps, at the end, in which wsd falls");
  add_choice(verb, kLearning, "--optimizer", c.optimizer, train::optimizer_names,
             "adamw, or muon, for matrices, beside adamw");
  add(verb, kLearning, "--momentum", c.momentum, "F", "Muon: memory of the gradient");
  add(verb, kLearning, "--weight-decay", c.weight_decay, "F", "Pull of matrices towards 0");
  add(verb, kLearning, "--beta1", c.beta1, "F", "AdamW: memory of the mean");
  add(verb, kLearning, "--beta2", c.beta2, "F", "AdamW: memory of the square");
  add(verb, kLearning, "--ema", c.ema, "F", "Keep means of the weights; memory of them; 0: none");
  add(verb, kLearning, "--clip", c.clip, "NORM", "Longest gradient; 0 does not clip");
  add_choice(verb, kLearning, "--precision", c.precision, precision_choices,
             "Of matrix products: float32, bf16, or auto, which --minutes takes:\nbf16 where a unit of the "
             "processor makes it faster");

  add(verb, kRun, "--eval-every", c.eval_every, "STEPS", "Steps between evaluations");
  add(verb, kRun, "--eval-tokens", c.eval_tokens, "N",
      "Of the validation part each time; 0: all; at the end all,\nor what costs a 25th of the run");
  add(verb, kRun, "--patience", c.patience, "N", "End after so many evaluations without progress; 0: never");
  add(verb, kRun, "--sample-every", sample_every, "STEPS", "Show some text this often; 0: at the end only");
  add(verb, kRun, "--save-every", c.save_every, "STEPS", "Steps between checkpoints");
  add(verb, kRun, "--keep", c.keep, "N", "Checkpoints that stay, in DIR/kept, beside the newest");
  verb.add_option("--out", out, "Run folder [out/<text>-<preset>]")
      ->group(kRun)
      ->type_name("DIR")
      ->take_last();
  add_switch(verb, kRun, "--resume", resume, "Go on with the run in that folder");
  add_switch(verb, kRun, "--overwrite", overwrite,
             "Start anew in that folder; what the run there left is lost");
  whole_number(verb, verb.add_option("--stop-after", stop_after,
                                     "Save and stop after this many steps; --resume continues"))
      ->group(kRun)
      ->type_name("N")
      ->take_last();
  add(verb, kRun, "--seed", c.seed, "N", "Decides all that is drawn");
  whole_number(verb,
               verb.add_option("--threads", threads, "Threads; results do not depend on them [one a core]"),
               kMostThreads)
      ->group(kRun)
      ->type_name("N")
      ->take_last();
  verb.add_option("--config", config_file, "TOML file with flags as keys; the command line wins")
      ->group(kRun)
      ->type_name("FILE")
      ->take_last();

  add_switch(verb, kOutput, "--json", json, "A JSON line for each event on the standard output");
  add_switch(verb, kOutput, "--quiet", quiet, "Nothing for people but errors");
  verb.add_option("--profile", profile, "Time each op; ui.perfetto.dev opens it")
      ->group(kOutput)
      ->type_name("FILE")
      ->take_last();
  add(verb, kOutput, "--profile-after", profile_after, "N", "Steps before; fewer if the run is short");
  add(verb, kOutput, "--profile-steps", profile_steps, "N", "Steps to profile");
}

void TrainFlags::settle(CLI::App& verb) {
  if (!config_file.empty()) apply_config(config_file, verb);
  train::for_each_field([&](const std::string& flag, auto) {
    if (verb.get_option("--" + flag)->count() > 0) given_.insert(flag);
  });
  check_choices();
  settle_precision();

  if (!is_given("preset") && !config.init_from.empty())
    config.preset = train::usual_preset(models::DecoderConfig{}.arch);  // AdamW goes on from anywhere
  else if (!is_given("preset") && is_given("arch"))
    config.preset = train::usual_preset(config.model.arch);
  config = on_preset(config.preset);

  if (!resume) check(config);  // resumed() does it for a run that goes on.
  const auto check_given = [&](const char* flag, int64_t value) {
    if (verb.get_option(flag)->count() > 0 && value < 1)
      fail("train", flag, " must be a whole number of at least 1, got ", value, ".");
  };
  check_given("--threads", threads);
  check_given("--stop-after", stop_after);
  check_given("--profile-steps", profile_steps);
  if (profile_after < 0)
    fail("train", "--profile-after must be a whole number of at least 0, got ", profile_after, ".");
  if (sample_every < 0)
    fail("train", "--sample-every must be a whole number of at least 0, got ", sample_every, ".");
  check_profile();
  if (is_given("val-tokens") && is_given("val-fraction"))
    fail("train", "--val-tokens and --val-fraction must not come together, got both.");
  for (const char* flag : {"steps", "earlier-steps"})
    if (is_given(flag) && config.minutes > 0)
      fail("train", "--", flag, " and --minutes must not come together, got both.");
  if (resume && overwrite) fail("train", "--resume and --overwrite must not come together, got both.");
}

train::TrainConfig TrainFlags::on_preset(const std::string& name) const {
  train::TrainConfig merged = train::preset(name);
  if (given_.contains("arch")) models::change_arch(merged.model, config.model.arch);
  train::for_each_field([&](const std::string& flag, auto field) {
    if (given_.contains(flag)) field(merged) = field(config);
  });
  const train::TrainConfig preset = train::preset(name);
  if (merged.optimizer != preset.optimizer && !given_.contains("lr"))
    merged.lr = train::usual_rate(merged.optimizer);
  if (merged.lr != preset.lr && !given_.contains("min-lr"))
    merged.min_lr = preset.min_lr > 0 ? merged.lr / 10 : 0;
  for (std::string& file : merged.text)
    if (file != "-") file = whole_path(file);
  for (std::string* file : {&merged.tokens, &merged.val_tokens})
    if (!file->empty()) *file = whole_path(*file);
  if (!is_tokenizer_kind(merged.tokenizer)) merged.tokenizer = whole_path(merged.tokenizer);
  if (merged.tokenizer == "bpe" && !given_.contains("vocab")) merged.vocab = kPairTokens;
  if (!merged.init_from.empty()) {
    merged.init_from = whole_path(merged.init_from);
    if (!resume) begin_with_model(merged, [&](const std::string& flag) { return is_given(flag); });
  }
  return merged;
}

void TrainFlags::check_choices() const {
  const auto check = [&](const std::string& flag, const std::string& value,
                         const std::vector<std::string>& known) {
    if (given_.contains(flag)) check_choice("train", "--" + flag, value, known);
  };
  check("preset", config.preset, models::preset_names());
  check("corpus", config.corpus, data::corpus_names());
  if (!is_tokenizer_kind(config.tokenizer) && !std::filesystem::exists(config.tokenizer))
    fail("train", "--tokenizer must be ", listed(data::Tokenizer::kinds()),
         ", or the path of a tokenizer's folder or tokenizer.json, got ", files::in_quotes(config.tokenizer),
         ", where nothing is.", did_you_mean(config.tokenizer, data::Tokenizer::kinds()));
  check("decay", config.decay, train::decay_names());
  check("optimizer", config.optimizer, train::optimizer_names());
  check("precision", config.precision, precision_choices());
}

void TrainFlags::settle_precision() {
  // What the machine can do in a time depends on the machine: then on its unit too.
  if (config.minutes > 0 && !is_given("precision") && !resume) {
    config.precision = kAuto;
    given_.insert("precision");
  }
  if (config.precision != kAuto) return;
  config.precision = train::precision_name(
      kernels::isa_in_use(kernels::IsaFor::bf16) == kernels::Isa::widened ? DType::float32 : DType::bfloat16);
  if (resume) given_.erase("precision");  // the run's own stays
}

void TrainFlags::check_profile() const {
  if (profile.empty()) return;
  const std::filesystem::path file = std::filesystem::absolute(profile);
  if (std::filesystem::is_directory(file) || !std::filesystem::is_directory(file.parent_path()))
    fail("train", "--profile must be a file in a folder that is there, got ", profile, ".");
}

train::TrainConfig TrainFlags::resumed(const train::TrainConfig& saved) const {
  // The text may lie elsewhere now; that it is the same is seen when it has been read.
  static const std::set<std::string> may_change{"steps",      "eval-every", "eval-tokens", "patience",
                                                "save-every", "keep",       "text",        "corpus",
                                                "tokens",     "val-tokens"};
  train::TrainConfig result = saved;
  train::for_each_field([&](const std::string& flag, auto field) {
    if (!given_.contains(flag) || field(config) == field(saved)) return;
    if (!may_change.contains(flag))
      fail("train", "--", flag, " of a resumed run must stay ", printed(field(saved)), ", got ",
           printed(field(config)), ". Hint: leave it out, or start anew with another --out.");
    field(result) = field(config);
  });
  if (given_.contains("text") && !given_.contains("corpus")) result.corpus.clear();
  if (given_.contains("corpus") && !given_.contains("text")) result.text.clear();
  check(result);
  return result;
}

}  // namespace gradus::cli

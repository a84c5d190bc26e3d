#include "gradus/train/train_config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "gradus/data/chat.hpp"
#include "gradus/data/corpus.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/optimizers/registry.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::train {
namespace {

template <auto Member>
SettingPlace at(TrainConfig& config) {
  if constexpr (requires { config.model.*Member; })
    return &(config.model.*Member);
  else
    return &(config.*Member);
}

constexpr Setting::Range kFrom0{}, kAbove0{.has_least = false};
constexpr Setting::Range kBelow1{.most = 1, .has_most = false}, kPart{.most = 1, .has_least = false};
using enum Setting::Trait;

std::vector<std::string> optimizer_names() { return column(optimizers(), &OptimizerKind::name); }

std::vector<std::string> precisions() {
  std::vector<std::string> names = precision_names();
  names.emplace_back(kAutoPrecision);
  return names;
}

std::string parts_of_architectures() {
  return joined(models::architectures(), "\n",
                [](const models::Architecture* row) { return concat(row->name, ": ", row->parts); });
}

template <class E>
Words words_of() {
  return words(E{});
}

template <auto Member>
Setting row(std::string_view key, SettingGroup group, std::string_view unit, const std::string& help,
            const Setting::Options& options = {}) {
  return {key, at<Member>, group, unit, help, options};
}

std::vector<Setting> make_settings() {
  using Config = TrainConfig;
  using Model = models::DecoderConfig;
  using enum SettingGroup;
  return {
      row<&Config::preset>("preset", model, "NAME",
                           concat(listed(models::preset_names()),
                                  ":\ndefaults of the settings below; train --help lists the presets"),
                           {.traits = kSize, .choices = models::preset_names}),

      row<&Config::text>("text", text, "FILE",
                         "Train on these files, joined in order, and on the .txt files\nof these folders; - "
                         "is the standard input",
                         {.traits = kResumable}),
      row<&Config::text_weights>("text-weights", text, "F",
                                 "Weights of the texts: how often their tokens are read",
                                 {.range = kFrom0, .traits = kStoredIfSet | kOfTexts}),
      row<&Config::tokens>(
          "tokens", text, "FILE",
          "Train on token numbers of 16 bits, as in nanoGPT's .bin files;\nneeds --tokenizer",
          {.traits = kStoredIfSet | kResumable | kPath}),
      row<&Config::val_tokens>("val-tokens", text, "FILE",
                               "File of token numbers to evaluate on [the end of --tokens]",
                               {.traits = kStoredIfSet | kResumable | kPath}),
      row<&Config::val_text>("val-text", text, "FILE", "Text or JSONL to evaluate on [the end of --text]",
                             {.traits = kStoredIfSet | kResumable}),
      row<&Config::loss_on>("loss-on", text, "NAME",
                            "JSONL: answers or all; the tokens of examples that the loss counts",
                            {.traits = kStoredIfSet | kOfExamples, .choices = words_of<LossOn>}),
      row<&Config::skip_bad>("skip-bad", text, "", "JSONL: count bad lines instead of refusing them",
                             {.traits = kStoredIfSet | kResumable | kOfExamples}),
      row<&Config::chat_format>("chat-format", text, "NAME",
                                "JSONL: format of conversations [that of the model's chat template]",
                                {.traits = kStoredIfSet | kOfExamples, .choices = data::chat_format_names}),
      row<&Config::chat_tokens>(
          "chat-tokens", text, "",
          "Add the special tokens of conversations to a tokenizer that is\nmade from the text, as JSONL does",
          {.traits = kStoredIfSet}),
      row<&Config::corpus>(
          "corpus", text, "NAME",
          "kjv, the King James Bible, or stories, generated from a grammar\n[kjv if it is installed]",
          {.traits = kResumable, .choices = data::corpus_names}),
      row<&Config::tokenizer>("tokenizer", text, "NAME|FROM",
                              "char for text in UTF-8, byte for any file, bpe for byte pairs\nlearned from "
                              "the text, or the path of a tokenizer",
                              {.traits = kPath, .choices = data::Tokenizer::kinds}),
      row<&Config::vocab>("vocab", text, "N", "Size of the vocabulary of bpe [4096]", {.range = kFrom0}),
      row<&Config::val_fraction>("val-fraction", text, "F",
                                 "Fraction of the text, at its end, for the validation split",
                                 {.range = kBelow1}),
      row<&Config::windows>("windows", text, "NAME",
                            "Training windows: shuffled reads each once an epoch, in a new\norder; random "
                            "draws them with replacement, as --text-weights does",
                            {.traits = kStoredIfSet, .choices = words_of<Windows>}),

      row<&Config::init_from>(
          "init-from", model, "DIR",
          "Fine-tune the model in this folder or checkpoint (ckpt.pt), of\ngradus or another program",
          {.traits = kStoredIfSet | kPath | kResumable}),
      row<&Config::lora>("lora", model, "RANK",
                         "Train low-rank adapters (LoRA) of the model of --init-from, whose\nweights stay; "
                         "0: train the weights",
                         {.range = kFrom0, .traits = kStoredIfSet}),
      row<&Config::lora_alpha>("lora-alpha", model, "F",
                               "LoRA: factor of the update, divided by the rank [twice the rank]",
                               {.range = kFrom0, .traits = kStoredIfSet}),
      row<&Config::lora_on>("lora-on", model, "PATTERN",
                            "LoRA: the layers, as q_proj [all linear layers of the blocks]",
                            {.traits = kStoredIfSet}),
      row<&Config::lora_dropout>("lora-dropout", model, "P", "LoRA: dropout of the adapters' inputs",
                                 {.range = kBelow1, .traits = kStoredIfSet}),
      row<&Config::adapter>("adapter", model, "DIR",
                            "LoRA: start from the adapter in this folder, in PEFT's files",
                            {.traits = kStoredIfSet | kPath}),
      row<&Config::weights>("weights", model, "NAME",
                            concat("LoRA: format of frozen weights: ", listed(weights_names())),
                            {.traits = kStoredIfSet, .choices = weights_names}),
      row<&Config::teacher>("teacher", model, "DIR",
                            "Learn from the probabilities of the model or ensemble in this folder\ntoo "
                            "(distillation), whose tokenizer the run gets",
                            {.traits = kStoredIfSet | kPath | kResumable}),
      row<&Config::teacher_weight>("teacher-weight", model, "F",
                                   "Weight of the teacher's probabilities in the loss; the text has the rest",
                                   {.range = kPart, .traits = kStoredIfSet}),
      row<&Model::arch>("arch", model, "NAME", parts_of_architectures(),
                        {.traits = kStoredIfSet | kSize | kOfModel, .choices = models::arch_names}),
      row<&Model::n_layer>("layers", model, "N", "Transformer blocks",
                           {.field = "n_layer", .traits = kSize | kOfModel}),
      row<&Model::n_head>("heads", model, "N", "Attention heads; must divide --embd",
                          {.field = "n_head", .traits = kSize | kOfModel}),
      row<&Model::n_embd>("embd", model, "N", "Width: the size of a token embedding",
                          {.field = "n_embd", .traits = kSize | kOfModel}),
      row<&Model::block_size>("block", model, "TOKENS", "Context length in training",
                              {.field = "block_size", .traits = kSize}),
      row<&Model::dropout>("dropout", model, "P", "Dropout probability"),
      row<&Model::bias>("bias", model, "", "Biases in linear layers and norms [gpt2: on]",
                        {.traits = kSize | kOfModel}),
      row<&Model::n_kv_head>(
          "kv-heads", model, "N",
          "llama, gemma: heads of keys and values; must divide\n--heads; 0: as many as --heads",
          {.field = "n_kv_head", .traits = kStoredIfSet | kSize | kOfModel}),
      row<&Model::n_inner>("hidden", model, "N",
                           "llama, gemma: width inside the MLP; 0: 8/3 of --embd, rounded\nup to 32",
                           {.field = "n_inner", .traits = kStoredIfSet | kSize | kOfModel}),
      row<&Model::rope_theta>("rope-theta", model, "F", "llama, gemma: base of the rotary positions",
                              {.traits = kStoredIfSet | kOfModel}),
      row<&Model::qk_norm>("qk-norm", model, "", "llama: norms of queries and keys, as in Qwen3 [on]",
                           {.traits = kStoredIfSet | kSize | kOfModel}),
      row<&Model::tie_word_embeddings>(
          "tied", model, "", "Weight tying: the output matrix is the token embedding [on]",
          {.field = "tie_word_embeddings", .traits = kStoredIfSet | kSize | kOfModel, .off = "untied"}),
      row<&Model::norm_eps>("norm-eps", model, "F", "Epsilon that norms add to the variance",
                            {.traits = kStoredIfSet | kOfModel}),

      row<&Config::steps>("steps", learning, "N", "Training steps: updates of the parameters",
                          {.traits = kLoop | kResumable}),
      row<&Config::earlier_steps>("earlier-steps", learning, "N",
                                  "Pairs DONE PLANNED, as in train.json: steps before DONE have "
                                  "the\nlearning rates of a run of PLANNED steps",
                                  {.traits = kStoredIfSet}),
      row<&Config::minutes>("minutes", learning, "F",
                            "Time budget instead of --steps: choose preset, tokenizer, steps,\nprecision, "
                            "dropout and teachers that fit; 0: none",
                            {.range = Setting::Range{.most = 1e6}}),
      row<&Config::batch>("batch", learning, "N", "Micro-batch size: windows of --block tokens",
                          {.traits = kLoop}),
      row<&Config::accum>("accum", learning, "N", "Micro-batches per step (gradient accumulation)",
                          {.traits = kLoop}),
      row<&Config::micro>(
          "micro", learning, "M",
          "Micro-batches that the windows of a step are split into: any\nnumber of ranks that "
          "share them gives the same bits",
          {.traits = kLoop | kStoredIfSet}),
      row<&Config::wire>(
          "wire", learning, "NAME",
          concat("Precision of the gradients and updates that ranks exchange:\n", listed(precision_names())),
          {.traits = kLoop | kStoredIfSet | kResumable, .choices = precision_names}),
      row<&Config::lr>("lr", learning, "RATE", "Maximum learning rate", {.range = kAbove0}),
      row<&Config::min_lr>("min-lr", learning, "RATE",
                           "Final learning rate [a tenth of --lr; 0 if that of the preset is 0]"),
      row<&Config::warmup>("warmup", learning, "STEPS", "Warm-up steps, in which the learning rate increases",
                           {.range = kFrom0}),
      row<&Config::decay>("decay", learning, "NAME",
                          concat("Decay of the learning rate: ", listed(decay_names())),
                          {.choices = decay_names}),
      row<&Config::cooldown>("cooldown", learning, "F",
                             "wsd: fraction of the steps, at the end, in which the rate decays",
                             {.range = kPart}),
      row<&Config::optimizer>("optimizer", learning, "NAME",
                              concat(listed(optimizer_names()),
                                     "; muon updates the matrices,\nand adamw updates the other parameters"),
                              {.choices = optimizer_names}),
      row<&Config::momentum>("momentum", learning, "F", "Muon: decay of the momentum", {.range = kBelow1}),
      row<&Config::lr_of>("lr-of", learning, "PATTERN=F",
                          "Multiply by F the learning rate of parameters that match PATTERN",
                          {.traits = kStoredIfSet}),
      row<&Config::freeze>("freeze", learning, "PATTERN", "Do not train parameters whose names match PATTERN",
                           {.traits = kStoredIfSet}),
      row<&Config::ema>("ema", learning, "F",
                        "Decay of the exponential moving average of the weights; 0: none", {.traits = kLoop}),
      row<&Config::weight_decay>("weight-decay", learning, "F",
                                 "Weight decay of matrices; biases and norms have none", {.range = kFrom0}),
      row<&Config::beta1>("beta1", learning, "F", "AdamW, Lion: decay of the mean of gradients",
                          {.range = kBelow1}),
      row<&Config::beta2>("beta2", learning, "F",
                          "AdamW, RMSprop: decay of mean squares; Lion: of the momentum", {.range = kBelow1}),
      row<&Config::clip>("clip", learning, "NORM", "Maximum norm of the gradient (clipping); 0: no limit",
                         {.traits = kLoop}),
      row<&Config::seed>("seed", run, "N", "Seed of initial weights, batches, dropout and samples",
                         {.traits = kLoop}),
      row<&Config::precision>(
          "precision", learning, "NAME",
          concat("Precision of matrix products: ", listed(precisions()),
                 "; auto, the\ndefault with --minutes, is bf16 if the processor makes it faster"),
          {.traits = kLoop, .choices = precisions}),

      row<&Config::eval_every>("eval-every", run, "STEPS", "Steps between evaluations",
                               {.traits = kLoop | kResumable}),
      row<&Config::eval_tokens>("eval-tokens", run, "N",
                                "Tokens per evaluation; 0: the whole validation split. The final\nevaluation "
                                "reads all, or as many as fit in 4 % of the time",
                                {.range = kFrom0, .traits = kResumable}),
      row<&Config::patience>("patience", run, "N",
                             "Stop after this many evaluations without a new best; 0: never",
                             {.traits = kLoop | kResumable}),
      row<&Config::save_every>("save-every", run, "STEPS", "Steps between checkpoints",
                               {.traits = kLoop | kResumable}),
      row<&Config::keep>("keep", run, "N", "Newest checkpoints to keep, in DIR/kept",
                         {.traits = kLoop | kResumable}),
  };
}

std::string typed(const std::string& value) { return value; }
template <class T>
requires requires(T value) { word(value); }
std::string typed(T value) { return word(value); }
template <class T>
std::string typed(const std::vector<T>& values) {
  return values.empty() ? "empty" : joined(values, " ");
}
template <class T>
std::string typed(T value) {
  return concat(std::boolalpha, value);
}

std::string text_of(const Setting::Range& range, bool is_whole) {
  if (is_whole) return concat("a whole number of at least ", range.least);
  if (std::isinf(range.most))
    return concat("a finite number ", range.has_least ? "of at least " : "above ", range.least);
  return concat("in ", range.has_least ? "[" : "(", range.least, ", ", range.most,
                range.has_most ? "]" : ")");
}

constexpr double kMost = 1e15;  // of whole numbers: sums and products of a few fit into 64 bits

/// Throws Error unless the row allows the value, or each value of a list.
template <class T>
void check(const Setting& row, const T& value) {
  const auto refuse = [&](const std::string& wanted, const std::string& got) {
    const std::string field = row.field();
    fail("train", Option{field}, " must be ", wanted, ", got ", got, ".");
  };
  if constexpr (std::is_same_v<T, std::string>) {
    const bool may_be_empty = row.text(TrainConfig()).empty();
    if (value.empty() && may_be_empty) return;
    std::vector<std::string> words;
    if (row.options.choices) words = row.options.choices();
    if (std::ranges::find(words, value) != words.end()) return;
    if (row.has(kPath)) {
      if (std::filesystem::path(value).is_absolute() && files::is_utf8(value)) return;
      words.emplace_back("an absolute path in UTF-8");
    }
    if (!words.empty()) refuse(listed(words), files::in_quotes(value));
    if (!files::is_utf8(value)) refuse("in UTF-8", files::in_quotes(value));
  } else if constexpr (requires { value.begin(); }) {
    for (const auto& one : value) check(row, one);
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    constexpr bool is_whole = std::is_same_v<T, int64_t>;
    const auto number = static_cast<double>(value);
    if (is_whole && number > kMost)
      refuse(concat("a whole number of at most ", static_cast<int64_t>(kMost)), concat(value));
    if (!row.options.range) return;
    const Setting::Range& range = *row.options.range;
    if (!std::isfinite(number) || number < range.least || number > range.most ||
        (number == range.least && !range.has_least) || (number == range.most && !range.has_most))
      refuse(text_of(range, is_whole), concat(value));
  }
}

}  // namespace

bool Setting::is_list() const {
  return visit(TrainConfig(), []<class T>(const T&) {
    return requires(T v) { v.push_back(v.front()); }
    &&!std::is_same_v<T, std::string>;
  });
}

std::string Setting::field() const {
  std::string name(options.field.empty() ? key : options.field);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string Setting::text(const TrainConfig& config) const {
  return visit(config, [](const auto& value) { return typed(value); });
}

bool Setting::is_equal(const TrainConfig& a, const TrainConfig& b) const {
  return visit(
      a, [&]<class T>(const T& value) { return value == *std::get<T*>(place(const_cast<TrainConfig&>(b))); });
}

void Setting::copy(const TrainConfig& from, TrainConfig& to) const {
  visit(to, [&]<class T>(T& value) { value = *std::get<T*>(place(const_cast<TrainConfig&>(from))); });
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> rows = make_settings();
  return rows;
}

void check_settings(const TrainConfig& config) {
  for (const Setting& row : settings()) row.visit(config, [&](const auto& value) { check(row, value); });
}

}  // namespace gradus::train

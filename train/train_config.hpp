// TrainConfig: the settings of a run: what it computes, and when it evaluates and saves; and settings(), the
// table with a row for each. Flags, help, completion, the manual page, config files, train.json, error texts
// and the checks of resumed runs follow from the rows. Thread-safe: rows do not change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gradus/models/decoder_config.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/train/optimizers/optimizer.hpp"
#include "gradus/train/trainer/loop_options.hpp"
#include "gradus/train/trainer/schedule.hpp"

namespace gradus::train {

/// The tokens of examples that the loss counts, see data::ExampleRules.
enum class LossOn { answers, all };
/// How windows of the training split are drawn, see data::TextDataset.
enum class Windows { shuffled, random };
/// The format of frozen weights.
enum class Weights {
  float32,
  bfloat16,
#define GRADUS_WEIGHTS(dtype, Tile, word) dtype,
  GRADUS_TILES(GRADUS_WEIGHTS)
#undef GRADUS_WEIGHTS
};
using Words = std::vector<std::string>;  ///< names of values
Words words(LossOn);                     ///< their names, in the order of the values
Words words(Windows);                    ///< their names, in the order of the values
Words words(Weights);                    ///< their names, in the order of the values
/// The name of a value.
template <class E>
requires requires(E value) { words(value); }
std::string word(E value) { return words(value)[static_cast<size_t>(value)]; }
/// Sets the value to that of a name. Returns false, having changed nothing, for another name.
template <class E>
requires requires(E value) { words(value); }
bool set_word(E& value, std::string_view name) {
  const Words all = words(value);
  const auto found = std::ranges::find(all, name);
  if (found != all.end()) value = static_cast<E>(found - all.begin());
  return found != all.end();
}

/// All settings of a run. The defaults are the preset nano, without a vocabulary.
struct TrainConfig : LoopOptions, models::LossSettings {
  std::string preset = "nano";  ///< gives the values that were not set

  // The text.
  std::vector<std::string> text;     ///< files and folders (data/text.hpp), joined; none: the corpus
  std::vector<double> text_weights;  ///< one for each of `text`, see data::WeightedPart; none: all equal
  std::string tokens;      ///< absolute path of a file of token numbers (data/tokens.hpp), instead of text
  std::string val_tokens;  ///< one to evaluate on; none: the end of `tokens`
  std::string val_text;    ///< a text or JSONL file to evaluate on; none: the end of `text`
  LossOn loss_on = LossOn::answers;   ///< JSONL: what counts
  bool skip_bad = false;              ///< JSONL: bad lines are counted, not refused
  std::string chat_format;            ///< of conversations, see data::ChatFormat::of(); none: by the template
  bool chat_tokens = false;           ///< adds data::with_chat() to a tokenizer that is made from the text
  std::string corpus;                 ///< one of data::corpus_names(); none: the best that is installed
  std::string tokenizer = "char";     ///< one of data::Tokenizer::kinds(), or the absolute path of one
  int64_t vocab = 0;                  ///< size of the vocabulary that bpe learns; 0 for other tokenizers
  double val_fraction = 0.1;          ///< of the tokens, at the end
  Windows windows = Windows::random;  ///< of the training split

  std::string init_from;  ///< absolute path of the folder of a model to fine-tune; none: a new model
  int64_t lora = 0;       ///< rank of the adapters (nn::LoRA) that are trained; 0: the weights are
  double lora_alpha = 0;  ///< see nn::LoRAOptions; 0: twice the rank
  std::vector<std::string> lora_on;    ///< see nn::LoRAOptions; none: all linear layers of blocks
  double lora_dropout = 0;             ///< see nn::LoRAOptions
  std::string adapter;                 ///< absolute path of the folder of the first adapters; none: new ones
  Weights weights = Weights::float32;  ///< of frozen matrices
  std::string teacher;          ///< absolute path of the folder of a model to learn from; none: no model
  models::DecoderConfig model;  ///< vocab_size comes from the tokenizer

  // Learning, in addition to LoopOptions.
  /// Pairs (done, planned): steps before `done` had the learning rates of a run of `planned` steps.
  std::vector<int64_t> earlier_steps;
  double minutes = 0;               ///< planned duration of the run (plan.hpp); 0: it was not planned
  double lr = 1e-3;                 ///< highest learning rate
  double min_lr = 1e-4;             ///< last learning rate
  int64_t warmup = 100;             ///< steps
  std::string decay = "cosine";     ///< one of decay_names()
  double cooldown = 0.3;            ///< see Schedule
  std::string optimizer = "adamw";  ///< a name in optimizers()
  double momentum = 0.95;           ///< see MuonOptions
  double weight_decay = 0.1;        ///< see AdamWOptions
  double beta1 = 0.9;               ///< see AdamWOptions and LionOptions
  double beta2 = 0.99;              ///< see AdamWOptions and LionOptions; RMSprop's alpha
  std::vector<std::string> lr_of;   ///< "PATTERN=F": see ParameterGroup
  std::vector<std::string> freeze;  ///< patterns: see ParameterGroup

  int64_t eval_tokens = 32'768;  ///< tokens of an evaluation, spread over the validation split; 0: all of it

  /// Throws Error with the name of the first wrong setting, its constraint and its value. vocab_size may
  /// still be 0.
  void validate() const;
  /// Throws Error for a decay that is not one of decay_names().
  Schedule schedule() const {
    return {lr, min_lr, warmup, steps, decay_from(decay), cooldown, earlier_steps};
  }
  /// The options of the adapters. The rank must be above 0.
  nn::LoRAOptions lora_options() const;
  /// The groups of lr_of and freeze. Throws Error for an lr_of that is not PATTERN=F with F at least 0.
  ParameterGroups parameter_groups() const;
  /// Sets the number of steps of a run that has done `done`; the learning rates of these stay as they were.
  void change_steps(int64_t done, int64_t to);
};

DType dtype_of(Weights weights);  ///< in which they are stored
Words weights_names();            ///< those of Weights
/// The dtype of a name in weights_names(). Throws Error for another name.
DType weights_dtype(std::string_view name);

/// The settings of a preset, one of models::preset_names(). Throws Error for another name.
TrainConfig preset(std::string_view name);
/// The preset of a run that names only its architecture.
std::string_view usual_preset(std::string_view arch);

/// A section of the help.
enum class SettingGroup { text, model, learning, run };

/// A pointer to a setting in a config.
using SettingPlace = std::variant<std::string*, int64_t*, double*, bool*, DType*, LossOn*, Windows*, Weights*,
                                  std::vector<std::string>*, std::vector<double>*, std::vector<int64_t>*>;

/// A row of the table of settings.
struct Setting {
  /// Properties of a setting.
  enum Trait : unsigned {
    kResumable = 1,     ///< --resume may change it
    kSize = 2,          ///< a size of the model: `gradus info` has the flag too
    kOfModel = 4,       ///< stored with a model: --init-from takes it from there
    kPath = 8,          ///< an absolute path, unless it is one of the choices
    kStoredIfSet = 16,  ///< train.json has it only if it is not the default, as of gradus 0.3 on
    kLoop = 32,         ///< a member of LoopOptions: train.json of other models has it too
    kOfExamples = 64,   ///< has an effect on examples in JSONL only
    kOfTexts = 128      ///< has an effect on plain texts only
  };
  /// Finite numbers from `least` to `most`.
  struct Range {
    double least = 0;                                       ///< lower end
    double most = std::numeric_limits<double>::infinity();  ///< upper end
    bool has_least = true, has_most = true;                 ///< whether the ends are included
  };
  /// Properties that most rows leave at their defaults.
  struct Options {
    std::string_view field = {};      ///< the member, which errors name; none: the key with _ instead of -
    std::optional<Range> range = {};  ///< of a number; none: DecoderConfig or LoopOptions checks it
    unsigned traits = 0;              ///< the sum of some Traits
    std::vector<std::string> (*choices)() = nullptr;  ///< the words that it may be
    std::string_view off = {};  ///< the flag that switches it off; none: --no- and the key
  };

  std::string_view key;                        ///< the flag, and the key in config files and train.json
  SettingPlace (*place)(TrainConfig& config);  ///< its place in a config
  SettingGroup group;                          ///< where the help shows it
  std::string_view unit;                       ///< in the help: "N", "FILE"; none for a switch
  std::string help;      ///< with the default in brackets at its end, if the preset does not decide it
  Options options = {};  ///< the rest

  /// Whether it has the property.
  bool has(Trait trait) const { return (options.traits & trait) != 0; }
  bool is_list() const;                                             ///< whether it has several values
  std::string field() const;                                        ///< its name in errors
  std::string text(const TrainConfig& config) const;                ///< the value as a user types it
  bool is_equal(const TrainConfig& a, const TrainConfig& b) const;  ///< whether both have the same value
  void copy(const TrainConfig& from, TrainConfig& to) const;        ///< copies the value
  /// Calls f(value) with the value in the config.
  template <class F>
  auto visit(TrainConfig& config, F&& f) const {
    return std::visit([&](auto* at) { return f(*at); }, place(config));
  }
  /// The same for a config that does not change.
  template <class F>
  auto visit(const TrainConfig& config, F&& f) const {
    return std::visit([&](const auto* at) { return f(*at); }, place(const_cast<TrainConfig&>(config)));
  }
};

/// A value of --precision: the program chooses bf16 if the processor makes it faster.
inline constexpr std::string_view kAutoPrecision = "auto";

/// All rows, in the order of train.json.
const std::vector<Setting>& settings();

/// Throws Error for a value that is out of its range, or not one of the choices, or not a path.
void check_settings(const TrainConfig& config);

}  // namespace gradus::train

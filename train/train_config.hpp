// TrainConfig: everything that decides what a run computes, and how often it looks and saves. A plain value.
//
// The same words everywhere: a field is the flag --its-name of `gradus train`, the key of a config file, and
// the key of train.json in a run folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/models/decoder_config.hpp"
#include "gradus/train/trainer/schedule.hpp"

namespace gradus::train {

/// All settings of a run; a default-made one is the preset nano without a vocabulary.
struct TrainConfig {
  std::string preset = "nano";  ///< where the values that were not given came from

  // The text.
  std::vector<std::string>
      text;  ///< files and folders (data/text.hpp), joined; if there are none, the corpus
  std::vector<double> text_weights;  ///< of each of them, see data::WeightedPart; none: all are alike
  std::string tokens;                ///< or a file of token numbers (data/tokens.hpp), whole path
  std::string val_tokens;            ///< another to validate on; empty: the end of that
  std::string corpus;                ///< kjv, stories, or empty for the best that can be had
  std::string tokenizer =
      "char";         ///< one of data::Tokenizer::kinds(), or the whole path of one (data::load_tokenizer)
  int64_t vocab = 0;  ///< most tokens that bpe learns; 0 for any other tokenizer
  double val_fraction = 0.1;  ///< of the tokens, at the end

  std::string init_from;        ///< whole path of a folder whose model the run begins with; empty: a new one
  models::DecoderConfig model;  ///< vocab_size comes from the tokenizer

  // Learning. The defaults are the preset nano.
  int64_t steps = 2000;  ///< updates of the parameters
  /// Pairs (done, planned): until `done` steps were done, the plan was `planned` steps, and the rates were
  /// those of that plan. change_steps() adds them.
  std::vector<int64_t> earlier_steps;
  double minutes = 0;                 ///< that the run was planned for (plan.hpp); 0: it was not
  int64_t batch = 12;                 ///< windows of block_size tokens in a micro-batch
  int64_t accum = 1;                  ///< micro-batches a step
  double lr = 1e-3;                   ///< the highest learning rate
  double min_lr = 1e-4;               ///< and the last
  int64_t warmup = 100;               ///< steps
  std::string decay = "cosine";       ///< one of decay_names()
  double cooldown = 0.3;              ///< see Schedule
  std::string optimizer = "adamw";    ///< one of optimizer_names()
  double momentum = 0.95;             ///< see MuonOptions
  double ema = 0.0;                   ///< see Recipe
  double weight_decay = 0.1;          ///< see AdamWOptions
  double beta1 = 0.9;                 ///< see AdamWOptions
  double beta2 = 0.99;                ///< see AdamWOptions
  double clip = 1.0;                  ///< largest norm of the gradient; 0 does not clip
  int64_t seed = 1337;                ///< of initial values, batches and dropout
  std::string precision = "float32";  ///< of matrix products; one of precision_names()

  // Looking and saving; neither changes what is learnt.
  int64_t eval_every = 500;      ///< steps
  int64_t eval_tokens = 32'768;  ///< of the validation part in an evaluation, spread over it; 0: all of it
  int64_t patience = 0;          ///< see Recipe
  int64_t save_every = 500;      ///< steps
  int64_t keep = 0;              ///< see Recipe

  /// Throws Error that names the first field that is wrong, what must hold and what came. vocab_size may
  /// still be 0.
  void validate() const;
  /// Throws Error for a decay that is none.
  Schedule schedule() const {
    return {lr, min_lr, warmup, steps, decay_from(decay), cooldown, earlier_steps};
  }
  /// Another number of steps for a run that has done `done`; the rates up to there stay as they were.
  void change_steps(int64_t done, int64_t to);
};

/// A whole run of a name of models::preset_names(): shape, steps, batch and rates. Throws Error for another
/// name.
TrainConfig preset(std::string_view name);
/// The preset of a run of which no more is said than what its decoder is made of.
std::string_view usual_preset(std::string_view arch);
/// The learning rate that suits an optimizer of optimizer_names().
double usual_rate(std::string_view optimizer);

std::vector<std::string> optimizer_names();  ///< adamw, muon

/// The text of train.json.
std::string to_json(const TrainConfig& config);
/// The config that such a text stands for. Throws Error, naming `file` and the key, for what is missing,
/// unknown or of the wrong type.
TrainConfig train_config_from_json(std::string_view json, const std::string& file = "train.json");

/// Calls f(flag, field) for every field, where field(config) is a reference to it: the one list of them.
template <class F>
void for_each_field(F&& f) {
  f(
      "preset", [](auto& c) -> auto& { return c.preset; });
  f(
      "text", [](auto& c) -> auto& { return c.text; });
  f(
      "text-weights", [](auto& c) -> auto& { return c.text_weights; });
  f(
      "tokens", [](auto& c) -> auto& { return c.tokens; });
  f(
      "val-tokens", [](auto& c) -> auto& { return c.val_tokens; });
  f(
      "corpus", [](auto& c) -> auto& { return c.corpus; });
  f(
      "tokenizer", [](auto& c) -> auto& { return c.tokenizer; });
  f(
      "vocab", [](auto& c) -> auto& { return c.vocab; });
  f(
      "val-fraction", [](auto& c) -> auto& { return c.val_fraction; });
  f(
      "init-from", [](auto& c) -> auto& { return c.init_from; });
  f(
      "arch", [](auto& c) -> auto& { return c.model.arch; });
  f(
      "layers", [](auto& c) -> auto& { return c.model.n_layer; });
  f(
      "heads", [](auto& c) -> auto& { return c.model.n_head; });
  f(
      "embd", [](auto& c) -> auto& { return c.model.n_embd; });
  f(
      "block", [](auto& c) -> auto& { return c.model.block_size; });
  f(
      "dropout", [](auto& c) -> auto& { return c.model.dropout; });
  f(
      "bias", [](auto& c) -> auto& { return c.model.bias; });
  f(
      "kv-heads", [](auto& c) -> auto& { return c.model.n_kv_head; });
  f(
      "hidden", [](auto& c) -> auto& { return c.model.n_inner; });
  f(
      "rope-theta", [](auto& c) -> auto& { return c.model.rope_theta; });
  f(
      "qk-norm", [](auto& c) -> auto& { return c.model.qk_norm; });
  f(
      "tied", [](auto& c) -> auto& { return c.model.tie_word_embeddings; });
  f(
      "norm-eps", [](auto& c) -> auto& { return c.model.norm_eps; });
  f(
      "steps", [](auto& c) -> auto& { return c.steps; });
  f(
      "earlier-steps", [](auto& c) -> auto& { return c.earlier_steps; });
  f(
      "minutes", [](auto& c) -> auto& { return c.minutes; });
  f(
      "batch", [](auto& c) -> auto& { return c.batch; });
  f(
      "accum", [](auto& c) -> auto& { return c.accum; });
  f(
      "lr", [](auto& c) -> auto& { return c.lr; });
  f(
      "min-lr", [](auto& c) -> auto& { return c.min_lr; });
  f(
      "warmup", [](auto& c) -> auto& { return c.warmup; });
  f(
      "decay", [](auto& c) -> auto& { return c.decay; });
  f(
      "cooldown", [](auto& c) -> auto& { return c.cooldown; });
  f(
      "optimizer", [](auto& c) -> auto& { return c.optimizer; });
  f(
      "momentum", [](auto& c) -> auto& { return c.momentum; });
  f(
      "ema", [](auto& c) -> auto& { return c.ema; });
  f(
      "weight-decay", [](auto& c) -> auto& { return c.weight_decay; });
  f(
      "beta1", [](auto& c) -> auto& { return c.beta1; });
  f(
      "beta2", [](auto& c) -> auto& { return c.beta2; });
  f(
      "clip", [](auto& c) -> auto& { return c.clip; });
  f(
      "seed", [](auto& c) -> auto& { return c.seed; });
  f(
      "precision", [](auto& c) -> auto& { return c.precision; });
  f(
      "eval-every", [](auto& c) -> auto& { return c.eval_every; });
  f(
      "eval-tokens", [](auto& c) -> auto& { return c.eval_tokens; });
  f(
      "patience", [](auto& c) -> auto& { return c.patience; });
  f(
      "save-every", [](auto& c) -> auto& { return c.save_every; });
  f(
      "keep", [](auto& c) -> auto& { return c.keep; });
}

}  // namespace gradus::train

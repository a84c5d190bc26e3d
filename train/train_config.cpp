#include "gradus/train/train_config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOp = "train";

void check_at_least(std::string_view field, int64_t value, int64_t least) {
  constexpr int64_t kMost =
      1'000'000'000'000'000;  // What does not fit into 64 bits arrives as the largest that does.
  if (value < least)
    fail(kOp, "`", field, "` must be a whole number of at least ", least, ", got ", value, ".");
  if (value > kMost)
    fail(kOp, "`", field, "` must be a whole number of at most ", kMost, ", got ", value, ".");
}

/// Not finite counts as out of range, NaN included.
void check_range(std::string_view field, double value, bool good, std::string_view range) {
  if (!std::isfinite(value) || !good) fail(kOp, "`", field, "` must be ", range, ", got ", value, ".");
}

void check_model(const models::DecoderConfig& model) {
  check_at_least("n_layer", model.n_layer, 1);
  check_at_least("n_head", model.n_head, 1);
  check_at_least("n_embd", model.n_embd, 1);
  check_at_least("block_size", model.block_size, 1);
  if (model.n_embd % model.n_head != 0)
    fail(kOp, "`n_head` must divide `n_embd`, got ", model.n_head, " heads and a width of ", model.n_embd,
         ".");
  check_range("dropout", model.dropout, model.dropout >= 0 && model.dropout < 1, "in [0, 1)");
  models::DecoderConfig whole = model;
  whole.vocab_size = std::max<int64_t>(1, model.vocab_size);
  whole.validate();
}

/// What few runs choose: train.json has it only where it is not as usual.
bool is_rare(std::string_view flag) {
  static constexpr std::string_view kAll[] = {"arch",    "kv-heads",   "hidden",       "rope-theta",
                                              "qk-norm", "tied",       "norm-eps",     "init-from",
                                              "tokens",  "val-tokens", "text-weights", "earlier-steps"};
  return std::find(std::begin(kAll), std::end(kAll), flag) != std::end(kAll);
}

/// Whether folders of gradus 0.1 lack it: those go on with its default.
bool is_new(std::string_view flag) {
  constexpr std::string_view kNew[] = {"minutes",   "cooldown",    "optimizer", "momentum", "ema",
                                       "precision", "eval-tokens", "patience",  "vocab",    "keep"};
  return is_rare(flag) || std::find(std::begin(kNew), std::end(kNew), flag) != std::end(kNew);
}

void check_tokenizer(const std::string& tokenizer, int64_t vocab) {
  const std::vector<std::string> kinds = data::Tokenizer::kinds();
  const bool is_kind = std::find(kinds.begin(), kinds.end(), tokenizer) != kinds.end();
  if ((!is_kind && !fs::path(tokenizer).is_absolute()) || !files::is_utf8(tokenizer))
    fail(kOp, "`tokenizer` must be char, byte, bpe or a path from the root on, got ",
         files::in_quotes(tokenizer), ".");
  if (tokenizer == "bpe")
    check_at_least("vocab", vocab, data::Tokenizer::kLeastPairs);
  else if (vocab != 0)
    fail(kOp, "`vocab` must be left out unless `tokenizer` is bpe, got ", vocab, ".");
}

/// Where the text is from.
void check_text(const TrainConfig& c) {
  for (const std::string& file : c.text)
    if (!files::is_utf8(file))
      fail(kOp, "`text` must be files of names in UTF-8, got ", files::in_quotes(file), ".");
  if (!c.text.empty() && !c.corpus.empty())
    fail(kOp, "`text` and `corpus` must not come together, got both.");
  if (!c.corpus.empty() && c.corpus != "kjv" && c.corpus != "stories")
    fail(kOp, "`corpus` must be kjv or stories, got '", c.corpus, "'.");
  if (!c.text_weights.empty() && c.text_weights.size() != c.text.size())
    fail(kOp, "`text_weights` must be one for each of `text`, got ", c.text_weights.size(), " for ",
         c.text.size(), ".");
  for (const double weight : c.text_weights)
    check_range("text_weights", weight, weight >= 0, "finite numbers of at least 0");

  for (const auto& [field, path] : {std::pair("tokens", &c.tokens), std::pair("val_tokens", &c.val_tokens)})
    if ((!path->empty() && !fs::path(*path).is_absolute()) || !files::is_utf8(*path))
      fail(kOp, "`", field, "` must be a path from the root on, in UTF-8, got ", files::in_quotes(*path),
           ".");
  if (!c.val_tokens.empty() && c.tokens.empty())
    fail(kOp, "`val_tokens` must come with `tokens`, got it alone.");
  if (c.tokens.empty()) return;
  if (!c.text.empty() || !c.corpus.empty())
    fail(kOp, "`tokens` must not come together with a `", c.text.empty() ? "corpus" : "text", "`, got both.");
  if (c.tokenizer == "char" || c.tokenizer == "bpe")
    fail(kOp, "`tokenizer` must be byte, or the path of the one that made the `tokens`, got ", c.tokenizer,
         ".");
}

std::string shown(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += concat(text.empty() ? "" : " ", value);
  return text;
}

void check_earlier_steps(const TrainConfig& c) {
  const std::vector<int64_t>& all = c.earlier_steps;
  bool good = all.size() % 2 == 0;
  for (size_t i = 0; good && i < all.size(); i += 2)
    good = all[i] > (i == 0 ? 0 : all[i - 2]) && all[i] <= all[i + 1];
  if (!good)
    fail(kOp,
         "`earlier_steps` must be pairs of steps done, more in each pair, and steps planned, no fewer, got ",
         shown(all), ".");
}

void take(const files::Field& field, std::string& value) { value = field.text(); }
void take(const files::Field& field, std::vector<std::string>& value) { value = field.texts(); }
void take(const files::Field& field, std::vector<double>& value) {
  value.clear();
  for (const files::Field& item : field.items()) value.push_back(item.number());
}
void take(const files::Field& field, std::vector<int64_t>& value) {
  value.clear();
  for (const files::Field& item : field.items()) value.push_back(item.integer());
}
void take(const files::Field& field, int64_t& value) { value = field.integer(); }
void take(const files::Field& field, double& value) { value = field.number(); }
void take(const files::Field& field, bool& value) { value = field.flag(); }

const std::string& stored(const std::string& value) { return value; }
template <class T>
const std::vector<T>& stored(const std::vector<T>& value) {
  return value;
}
template <class T>
T stored(T value) {
  return value;
}

}  // namespace

void TrainConfig::validate() const {
  check_text(*this);
  check_tokenizer(tokenizer, vocab);
  if ((!init_from.empty() && !fs::path(init_from).is_absolute()) || !files::is_utf8(init_from))
    fail(kOp, "`init_from` must be a path from the root on, in UTF-8, got ", files::in_quotes(init_from),
         ".");
  check_range("val_fraction", val_fraction, val_fraction >= 0 && val_fraction < 1, "in [0, 1)");
  check_model(model);
  check_at_least("steps", steps, 1);
  check_earlier_steps(*this);
  check_range("minutes", minutes, minutes >= 0 && minutes <= 1e6, "from 0 to a million");
  check_at_least("batch", batch, 1);
  check_at_least("accum", accum, 1);
  check_range("lr", lr, lr > 0, "a finite number above 0");
  check_range("min_lr", min_lr, min_lr >= 0 && min_lr <= lr, concat("from 0 to `lr` (", lr, ")"));
  check_at_least("warmup", warmup, 0);
  const std::vector<std::string> decays = decay_names();
  if (std::find(decays.begin(), decays.end(), decay) == decays.end())
    fail(kOp, "`decay` must be cosine, linear, constant or wsd, got '", decay, "'.");
  check_range("cooldown", cooldown, cooldown > 0 && cooldown <= 1, "above 0 and at most 1");
  const std::vector<std::string> optimizers = optimizer_names();
  if (std::find(optimizers.begin(), optimizers.end(), optimizer) == optimizers.end())
    fail(kOp, "`optimizer` must be adamw or muon, got '", optimizer, "'.");
  check_range("momentum", momentum, momentum >= 0 && momentum < 1, "in [0, 1)");
  check_range("ema", ema, ema >= 0 && ema < 1, "in [0, 1)");
  check_range("weight_decay", weight_decay, weight_decay >= 0, "a finite number of at least 0");
  check_range("beta1", beta1, beta1 >= 0 && beta1 < 1, "in [0, 1)");
  check_range("beta2", beta2, beta2 >= 0 && beta2 < 1, "in [0, 1)");
  check_range("clip", clip, clip >= 0, "a finite number of at least 0");
  check_at_least("seed", seed, 0);
  precision_from(precision);  // refuses what is none
  check_at_least("eval_every", eval_every, 1);
  check_at_least("eval_tokens", eval_tokens, 0);
  check_at_least("patience", patience, 0);
  check_at_least("save_every", save_every, 1);
  check_at_least("keep", keep, 0);
}

void TrainConfig::change_steps(int64_t done, int64_t to) {
  const int64_t before = earlier_steps.empty() ? 0 : earlier_steps[earlier_steps.size() - 2];
  if (to != steps && done > before) earlier_steps.insert(earlier_steps.end(), {done, steps});
  steps = to;
}

std::vector<std::string> optimizer_names() { return {"adamw", "muon"}; }

std::string_view usual_preset(std::string_view arch) {
  const std::vector<models::Preset>& presets = models::architecture(arch).presets;
  return std::find_if(presets.begin(), presets.end(),
                      [](const models::Preset& one) { return one.least_tokens; })
      ->name;
}

double usual_rate(std::string_view optimizer) { return optimizer == "muon" ? 5e-3 : 1e-3; }

TrainConfig preset(std::string_view name) {
  TrainConfig config;
  config.preset = name;
  config.model = models::preset(name);
  if (config.model.arch != models::DecoderConfig{}.arch) {  // docs/recipe.md
    config.optimizer = "muon";
    config.lr = usual_rate("muon");
    config.min_lr = 0;
    config.decay = "wsd";
    config.warmup = 20;
    config.steps = 600;
    config.eval_every = config.save_every = 200;
  }
  if (name == "midi") {
    config.steps = 1500;
    config.batch = 8;
  }
  if (name == "maxi") {
    config.steps = 3000;
    config.batch = 16;
  }
  if (name == "tiny") {
    config.steps = 300;
    config.batch = 16;
    config.lr = 3e-3;
    config.min_lr = 3e-4;
    config.warmup = 20;
    config.eval_every = config.save_every = 100;
  } else if (name == "small") {
    config.steps = 5000;
    config.batch = 64;
    config.model.dropout = 0.2;
  } else if (name == "gpt2") {
    config.steps = 100'000;
    config.batch = 4;
    config.accum = 8;
    config.lr = 6e-4;
    config.min_lr = 6e-5;
    config.warmup = 2000;
    config.beta2 = 0.95;
    config.eval_every = config.save_every = 1000;
  }
  return config;
}

std::string to_json(const TrainConfig& config) {
  nlohmann::ordered_json json;
  const TrainConfig usual;
  for_each_field([&](const char* flag, auto field) {
    if (!is_rare(flag) || field(config) != field(usual)) json[flag] = stored(field(config));
  });
  return json.dump(2) + "\n";
}

TrainConfig train_config_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "train", file);
  const files::Field root = json.root();
  TrainConfig config;
  config.eval_tokens = 0;  // as gradus 0.1 evaluated, which did not say so
  std::set<std::string_view> known;
  for_each_field([&](const char* flag, auto field) {
    known.insert(flag);
    if (const auto given = is_new(flag) ? root.find(flag) : root.at(flag)) take(*given, field(config));
  });
  try {
    (void)models::architecture(config.model.arch);
  } catch (const Error& e) {
    fail(kOp, file, ": ", e.what());
  }
  for (const auto& [key, value] : root.members())
    if (!known.contains(key)) root.refuse("must have flags of a run only, got ", files::in_quotes(key), ".");
  return config;
}

}  // namespace gradus::train

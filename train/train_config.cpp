#include "gradus/train/train_config.hpp"

#include <charconv>
#include <cmath>

#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/optimizers/registry.hpp"

namespace gradus::train {
namespace {

constexpr std::string_view kOp = "train";

void check_text(const TrainConfig& c) {
  const Option text{"text"}, corpus{"corpus"}, tokens{"tokens"};
  if (!c.text.empty() && !c.corpus.empty())
    fail(kOp, text, " and ", corpus, " must not come together, got both.");
  if (!c.text_weights.empty() && c.text_weights.size() != c.text.size())
    fail(kOp, Option{"text_weights"}, " must be one for each of ", text, ", got ", c.text_weights.size(),
         " for ", c.text.size(), ".");
  if (!c.val_text.empty() && c.text.empty())
    fail(kOp, Option{"val_text"}, " must come with ", text, ", got it alone.");
  if (!c.val_tokens.empty() && c.tokens.empty())
    fail(kOp, Option{"val_tokens"}, " must come with ", tokens, ", got it alone.");
  if (c.tokens.empty()) return;
  if (!c.text.empty() || !c.corpus.empty())
    fail(kOp, tokens, " and ", c.text.empty() ? corpus : text, " must not come together, got both.");
  if (c.tokenizer == "char" || c.tokenizer == "bpe")
    fail(kOp, Option{"tokenizer"}, " must be byte, or the path of the one that made the ", tokens, ", got ",
         c.tokenizer, ".");
}

void check_vocab(const TrainConfig& c) {
  const Option vocab{"vocab"};
  if (c.tokenizer == "bpe" && c.vocab < data::Tokenizer::kLeastPairs)
    fail(kOp, vocab, " must be a whole number of at least ", data::Tokenizer::kLeastPairs, ", got ", c.vocab,
         ".");
  if (c.tokenizer != "bpe" && c.vocab != 0)
    fail(kOp, vocab, " must be left out unless ", Option{"tokenizer"}, " is bpe, got ", c.vocab, ".");
}

void check_earlier_steps(const std::vector<int64_t>& all) {
  bool good = all.size() % 2 == 0;
  for (size_t i = 0; good && i < all.size(); i += 2)
    good = all[i] > (i == 0 ? 0 : all[i - 2]) && all[i] <= all[i + 1];
  if (!good)
    fail(kOp, Option{"earlier_steps"},
         " must be pairs of steps done, more in each pair, and steps planned, no fewer, got ",
         joined(all, " "), ".");
}

void check_adapters(const TrainConfig& c) {
  const Option lora{"lora"}, init_from{"init_from"};
  if (c.lora > 0 && c.init_from.empty())
    fail(kOp, lora, " must come with ", init_from,
         ", got it alone. Hint: random weights have to be trained.");
  if (c.lora > 0) return;
  if (c.lora_alpha > 0 || !c.lora_on.empty() || c.lora_dropout > 0)
    fail(kOp,
         Option{c.lora_alpha > 0     ? "lora_alpha"
                : c.lora_dropout > 0 ? "lora_dropout"
                                     : "lora_on"},
         " must come with ", lora, ", got it alone.");
  if (c.weights != Weights::float32)
    fail(kOp, Option{"weights"}, " must be float32 unless they are frozen, with ", lora, ", got ",
         word(c.weights), ".");
}

void check_built(Weights weights) {
  if (weights != Weights::float32)
    kernels::needed(kernels::fast_kernels().stored_linear, kOp, Option{"weights"}, " ", word(weights));
}

}  // namespace

Words words(LossOn) { return {"answers", "all"}; }
Words words(Windows) { return {"shuffled", "random"}; }
#define GRADUS_WORD(dtype, Tile, word) word,
#define GRADUS_DTYPE(dtype, Tile, word) DType::dtype,
Words words(Weights) { return {"float32", "bfloat16", GRADUS_TILES(GRADUS_WORD)}; }

DType dtype_of(Weights weights) {
  constexpr DType kTypes[] = {DType::float32, DType::bfloat16, GRADUS_TILES(GRADUS_DTYPE)};
  return kTypes[static_cast<size_t>(weights)];
}

Words weights_names() { return words(Weights{}); }

DType weights_dtype(std::string_view name) {
  Weights weights{};
  if (!set_word(weights, name))
    fail(kOp, Option{"weights"}, " must be ", listed(weights_names()), ", got ", files::in_quotes(name), ".");
  check_built(weights);
  return dtype_of(weights);
}

nn::LoRAOptions TrainConfig::lora_options() const {
  return {.rank = lora,
          .alpha = lora_alpha > 0 ? lora_alpha : 2.0 * static_cast<double>(lora),
          .dropout = lora_dropout,
          .on = lora_on.empty() ? std::vector<std::string>{"*.*"} : lora_on};
}

void TrainConfig::validate() const {
  check_settings(*this);
  check_text(*this);
  check_vocab(*this);
  models::DecoderConfig whole = model;
  whole.vocab_size = std::max<int64_t>(1, model.vocab_size);
  whole.validate();
  LoopOptions::validate();
  check_adapters(*this);
  check_built(weights);
  check_earlier_steps(earlier_steps);
  if (!(min_lr >= 0 && min_lr <= lr))
    fail(kOp, Option{"min_lr"}, " must be from 0 to ", Option{"lr"}, " (", lr, "), got ", min_lr, ".");
  (void)parameter_groups();
}

ParameterGroups TrainConfig::parameter_groups() const {
  ParameterGroups groups;
  for (const std::string& item : lr_of) {
    const size_t equals = item.rfind('=');
    double factor = -1;
    const char* const end = item.data() + item.size();
    const char* const number = equals == item.npos ? end : item.data() + equals + 1;
    const auto [rest, error] = std::from_chars(number, end, factor);
    if (error != std::errc() || rest != end || !std::isfinite(factor) || factor < 0)
      fail(kOp, Option{"lr_of"}, " must be PATTERN=F with a finite F of at least 0, got ",
           files::in_quotes(item), ".");
    groups.push_back({.pattern = item.substr(0, equals), .lr_factor = factor});
  }
  for (const std::string& pattern : freeze) groups.push_back({.pattern = pattern, .frozen = true});
  return groups;
}

void TrainConfig::change_steps(int64_t done, int64_t to) {
  const int64_t before = earlier_steps.empty() ? 0 : earlier_steps[earlier_steps.size() - 2];
  if (to != steps && done > before) earlier_steps.insert(earlier_steps.end(), {done, steps});
  steps = to;
}

std::string_view usual_preset(std::string_view arch) {
  const std::vector<models::Preset>& presets = models::architecture(arch).presets;
  return std::ranges::find_if(presets, [](const models::Preset& one) { return one.least_tokens.has_value(); })
      ->name;
}

TrainConfig preset(std::string_view name) {
  TrainConfig config;
  config.preset = name;
  config.model = models::preset(name);
  if (config.model.arch != models::DecoderConfig{}.arch) {  // docs/recipe.md
    config.optimizer = "muon";
    config.lr = optimizer_kind(config.optimizer).usual_rate;
    config.min_lr = 0;
    config.decay = "wsd";
    config.warmup = 20;
    config.windows = Windows::shuffled;
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

}  // namespace gradus::train

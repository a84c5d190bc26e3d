#include "gradus/train/decoder.hpp"

#include <algorithm>

#include "gradus/data/tokenizer_files.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/muon.hpp"
#include "gradus/train/trainer/evaluate.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

data::Tokenizer fitting_tokenizer(const files::FolderSnapshot& files, const fs::path& from,
                                  const models::DecoderConfig& config) {
  if (from.empty() && !data::has_tokenizer(files))
    fail("vocabulary", files.folder(), " must have a tokenizer, vocab.json or tokenizer.json, got neither. ",
         "Hint: `tokenizer` takes one from elsewhere.");
  data::Tokenizer tokenizer = from.empty() ? data::read_tokenizer(files) : data::load_tokenizer(from);
  const int64_t tokens = tokenizer.vocab_size();
  const bool is_padded = tokenizer.kind() == "bpe" && models::is_padded_vocabulary(config.vocab_size, tokens);
  if (tokens != config.vocab_size && !is_padded)
    fail("vocabulary", "the tokenizer in ", from.empty() ? files.folder() : from, " must have the model's ",
         config.vocab_size, " tokens, got ", tokens, ".");
  return tokenizer;
}

std::unique_ptr<Optimizer> make_optimizer(const models::Decoder& model, const TrainConfig& config) {
  const AdamWOptions adamw{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay};
  if (config.optimizer == "adamw") return std::make_unique<AdamW>(model.named_parameters(), adamw);
  return std::make_unique<Muon>(model.named_parameters(),
                                MuonOptions{.momentum = config.momentum, .adamw = adamw});
}

}  // namespace

Loss decoder_loss(const models::Decoder& model) {
  return [&model](const data::Batch& batch, Generator* dropout) {
    return model.loss(batch.x, batch.y, dropout);
  };
}

Recipe decoder_recipe(const models::Decoder& model, BatchSource source, const TrainConfig& config) {
  config.validate();
  return {.loss = decoder_loss(model),
          .batches = std::move(source),
          .optimizer = make_optimizer(model, config),
          .schedule = config.schedule(),
          .steps = config.steps,
          .batch = config.batch,
          .accum = config.accum,
          .clip = config.clip,
          .seed = config.seed,
          .ema = config.ema,
          .precision = precision_from(config.precision),
          .eval_every = config.eval_every,
          .patience = config.patience,
          .save_every = config.save_every,
          .keep = config.keep};
}

ModelFiles decoder_files(const models::Decoder& model, const TrainConfig& config,
                         const data::Tokenizer& tokenizer) {
  return {.model = [&model](files::FolderUpdate& update) { models::save_pretrained(model, update); },
          .recipe = to_json(config),
          .tokenizer = data::tokenizer_files(tokenizer)};
}

int64_t evaluation_batch(const models::DecoderConfig& config) {
  constexpr int64_t kTokens = 4096;
  return std::max<int64_t>(1, kTokens / config.block_size);
}

double mean_loss(models::Decoder& model, const std::vector<data::Batch>& batches) {
  return mean_loss(model, decoder_loss(model), batches);
}

TrainConfig load_config(const RunFolder& run) {
  return run.read_recipe([](const files::FolderSnapshot& files) {
    return train_config_from_json(files.text("train.json"), (files.folder() / "train.json").string());
  });
}

data::Tokenizer load_tokenizer(const RunFolder& run) { return run.read_last(data::read_tokenizer); }

models::Decoder load_last_model(const RunFolder& run) {
  return run.read_last([](const files::FolderSnapshot& state) { return models::load_pretrained(state); });
}

TrainedModel load_trained(const fs::path& folder, const fs::path& from) {
  return files::read_folder(folder, [&](const files::FolderSnapshot& files) {
    models::DecoderConfig config = models::load_config(files);
    data::Tokenizer tokenizer = fitting_tokenizer(files, from, config);
    config.vocab_size = tokenizer.vocab_size();
    return TrainedModel{models::load_pretrained(files, config), std::move(tokenizer)};
  });
}

data::Tokenizer load_tokenizer(const fs::path& folder, const fs::path& from) {
  return files::read_folder(folder, [&](const files::FolderSnapshot& files) {
    return fitting_tokenizer(files, from, models::load_config(files));
  });
}

}  // namespace gradus::train

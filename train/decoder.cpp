#include "gradus/train/decoder.hpp"

#include <algorithm>
#include <memory>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/stored/adapter.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/train/optimizers/registry.hpp"
#include "gradus/train/run_folder/read_run.hpp"
#include "gradus/train/train_json.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

data::Tokenizer fitting_tokenizer(const files::FolderSnapshot& files, const fs::path& from,
                                  const models::DecoderConfig& config) {
  if (from.empty() && !data::has_tokenizer(files) && models::is_adapter(files))
    return files::read_folder(models::base_of(files), [&](const files::FolderSnapshot& base) {
      return fitting_tokenizer(base, {}, config);
    });
  if (from.empty() && !data::has_tokenizer(files))
    fail("vocabulary", files.folder(), " must have a tokenizer, vocab.json or tokenizer.json, got neither. ",
         "Hint: ", Option{"tokenizer"}, " takes one from elsewhere.");
  const data::Tokenizer whole = from.empty() ? data::read_tokenizer(files) : data::load_tokenizer(from);
  data::Tokenizer tokenizer = whole.cut_to(config.vocab_size);  // Gemma 3 has no row for <image_soft_token>
  if (const int64_t tokens = tokenizer.vocab_size(); tokens > config.vocab_size)
    fail("vocabulary", "the tokenizer in ", from.empty() ? files.folder() : from, " must have at most the ",
         config.vocab_size, " tokens of the model, got ", tokens, ".");
  return tokenizer;
}

std::unique_ptr<Optimizer> make_optimizer(const models::Decoder& model, const TrainConfig& config) {
  const NamedParameters parameters = model.named_parameters();
  std::unique_ptr<Optimizer> optimizer = optimizer_kind(config.optimizer)
                                             .make(parameters, {.beta1 = config.beta1,
                                                                .beta2 = config.beta2,
                                                                .momentum = config.momentum,
                                                                .weight_decay = config.weight_decay,
                                                                .groups = config.parameter_groups()});
  if (std::ranges::none_of(parameters, [](const NamedParameter& p) { return p.second.requires_grad(); }))
    fail("train", Option{"freeze"}, " must leave a parameter to train, got patterns that match all.");
  return optimizer;
}

}  // namespace

Loss decoder_loss(const models::Decoder& model) {
  return [&model](const data::Batch& batch, Generator* dropout) {
    return model.loss(batch.x, batch.y, dropout, batch.more.empty() ? Tensor() : batch.more[0]);
  };
}

Loss training_loss(const models::Decoder& model, const TrainConfig& config) {
  if (config.teacher.empty()) return decoder_loss(model);
  auto teacher = std::make_shared<models::Decoder>(load_trained(config.teacher).model);
  teacher->eval();
  const models::DecoderConfig &its = teacher->config(), &own = model.config();
  if (its.vocab_size != own.vocab_size || its.context_limit() < config.model.block_size)
    fail("train", Option{"teacher"}, " must have the ", own.vocab_size,
         " tokens of the run and a context of at least ", config.model.block_size, ", got ", its.vocab_size,
         " and ", its.context_limit(), " in ", config.teacher, ".");
  const models::LossSettings& settings = config;
  return [&model, teacher = std::move(teacher), settings](const data::Batch& batch, Generator* dropout) {
    const Tensor starts = batch.more.empty() ? Tensor() : batch.more[0];
    if (!dropout || !grad_enabled()) return model.loss(batch.x, batch.y, dropout, starts);  // an evaluation
    return model.distillation_loss(batch.x, batch.y, *teacher, settings, *dropout, starts);
  };
}

BatchSource training_batches(const data::TextDataset& dataset, const TrainConfig& config) {
  if (config.windows == Windows::random) return dataset.training_batches();
  return dataset.shuffled_batches(static_cast<uint64_t>(config.seed));
}

Recipe decoder_recipe(const models::Decoder& model, BatchSource source, const TrainConfig& config) {
  config.validate();
  const LoopOptions& loop = config;
  return {.loss = training_loss(model, config),
          .batches = std::move(source),
          .optimizer = make_optimizer(model, config),
          .schedule = config.schedule(),
          .loop = loop};
}

ModelFiles decoder_files(const models::Decoder& model, const TrainConfig& config,
                         const data::Tokenizer& tokenizer) {
  const std::string checksum = config.lora > 0 ? models::weights_checksum(config.init_from) : "";
  return {.model =
              [&model, checksum, base = config.init_from](files::FolderUpdate& update) {
                if (checksum.empty())
                  models::save_pretrained(model, update);
                else
                  models::save_adapter(model, base, checksum, update);
              },
          .recipe = [text = to_json(config)] { return text; },
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
  TrainConfig config = read_recipe(run, train_config_from_json);
  // A run moves with its teachers, and a member with those of its ensemble.
  if (fs::path(config.teacher).filename() == RunFolder::kTeachers && !fs::exists(config.teacher))
    for (const fs::path above : {".", "../.."})
      if (const fs::path moved = run.path() / above / RunFolder::kTeachers; fs::exists(moved))
        return config.teacher = fs::canonical(moved), config;
  return config;
}

data::Tokenizer load_tokenizer(const RunFolder& run) {
  return read_last(run, [](const files::FolderSnapshot& state) {
    return fitting_tokenizer(state, {}, models::load_config(state));
  });
}

models::Decoder load_last_model(const RunFolder& run) {
  return read_last(run, [](const files::FolderSnapshot& state) { return models::load_pretrained(state); });
}

TrainedModel load_trained(const fs::path& folder, const fs::path& from, const fs::path& adapter) {
  return files::read_folder(folder, [&](const files::FolderSnapshot& files) {
    models::DecoderConfig config = models::load_config(files);
    data::Tokenizer tokenizer = fitting_tokenizer(files, from, config);
    config.vocab_size = tokenizer.vocab_size();
    if (adapter.empty()) return TrainedModel{models::load_pretrained(files, config), std::move(tokenizer)};
    models::Decoder model = files::read_folder(adapter, [&](const files::FolderSnapshot& its) {
      return models::load_with_adapter(folder, its, config);
    });
    nn::merge_lora(model);
    return TrainedModel{std::move(model), std::move(tokenizer)};
  });
}

data::Tokenizer load_tokenizer(const fs::path& folder, const fs::path& from) {
  return files::read_folder(folder, [&](const files::FolderSnapshot& files) {
    return fitting_tokenizer(files, from, models::load_config(files));
  });
}

}  // namespace gradus::train

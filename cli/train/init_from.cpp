#include "gradus/cli/train/init_from.hpp"

#include <algorithm>
#include <filesystem>

#include "gradus/cli/sample/model_flags.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/stored/adapter.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;
using train::TrainConfig;
using IsGiven = std::function<bool(std::string_view)>;

// The rate is low, so that the model keeps its knowledge; a short text is read a few times.
constexpr double kRate = 3e-4, kLastRate = 3e-5;
constexpr int64_t kSteps = 200, kWarmup = 20, kEvery = 50;
// Tokens of a window, at most, and of a step. Models of others have contexts of 2,048 tokens and more;
// windows of that length rarely fit into memory.
constexpr int64_t kMostBlock = 512, kStepTokens = 2048;

void check_shape(const TrainConfig& asked, const models::DecoderConfig& model, const IsGiven& is_given) {
  if (is_given("preset"))
    fail("train", "--preset must be left out with --init-from, whose model has a shape, got ", asked.preset,
         ".");
  TrainConfig theirs;
  theirs.model = model;
  for (const train::Setting& row : train::settings())
    if (row.has(train::Setting::kOfModel) && is_given(row.key) && !row.is_equal(asked, theirs))
      fail("train", "--", row.key, " must be left out with --init-from, whose model has ", row.text(theirs),
           ", got ", row.text(asked), ".");
  const bool is_learned = models::architecture(model.arch).positions == models::Positions::learned;
  if (is_given("block") && is_learned && asked.model.block_size > model.block_size)
    fail("train", "--block must be at most the ", model.block_size,
         " positions that the model of --init-from ", "has learnt, got ", asked.model.block_size, ".");
}

/// The path of the tokenizer: the folder's, or, if it has none, the given one.
std::string tokenizer_of(const TrainConfig& asked, const IsGiven& is_given) {
  if (is_given("vocab"))
    fail("train", "--vocab must be left out with --init-from, whose model has one, got ", asked.vocab, ".");
  const auto [has_one, folder] = files::read_folder(asked.init_from, [](const files::FolderSnapshot& files) {
    return std::pair(data::has_tokenizer(files), files.folder().string());
  });
  if (!is_given("tokenizer")) return folder;
  if (has_one)
    fail("train", "--tokenizer must be left out with --init-from, whose folder has one, got ",
         asked.tokenizer, ".");
  if (!fs::path(asked.tokenizer).is_absolute())
    fail("train",
         "--tokenizer must be the path of the one that the model of --init-from was trained with, got ",
         asked.tokenizer, ".");
  return asked.tokenizer;
}

/// Sets the base and the rank if there is an adapter to begin with: that of --adapter, or of --init-from.
void begin_with_adapter(TrainConfig& config, const IsGiven& is_given) {
  files::read_folder(config.init_from, [&](const files::FolderSnapshot& files) {
    if (!models::is_adapter(files)) return;
    if (is_given("adapter"))
      fail("train", "--adapter must be left out if the folder of --init-from has an adapter, got ",
           config.adapter, ".");
    config.adapter = config.init_from;
    config.init_from = files::absolute_path(models::base_of(files));
  });
  if (config.adapter.empty()) return;
  for (const char* flag : {"lora", "lora-alpha", "lora-on", "lora-dropout"})
    if (is_given(flag))
      fail("train", "--", flag, " must be left out, as the adapter in ", config.adapter, " has its own.");
  config.lora = files::read_folder(config.adapter, [](const files::FolderSnapshot& files) {
    return models::adapter_config_from_json(files.text(models::kAdapterConfig),
                                            (files.folder() / models::kAdapterConfig).string())
        .rank;
  });
}

}  // namespace

void begin_with_model(TrainConfig& config, const IsGiven& is_given) {
  begin_with_adapter(config, is_given);
  models::DecoderConfig model = models::check_pretrained(config.init_from);
  check_single("train", model, config.init_from);
  check_shape(config, model, is_given);
  config.tokenizer = tokenizer_of(config, is_given);
  config.vocab = 0;
  (void)train::load_tokenizer(config.init_from, is_given("tokenizer") ? config.tokenizer : "");
  model.block_size = is_given("block") ? config.model.block_size : std::min(model.block_size, kMostBlock);
  if (is_given("dropout")) model.dropout = config.model.dropout;
  config.model = model;

  const auto suits = [&](const char* flag, auto& value, auto usual) {
    if (!is_given(flag)) value = usual;
  };
  suits("min-lr", config.min_lr, is_given("lr") ? config.lr / 10 : kLastRate);
  suits("lr", config.lr, kRate);
  suits("batch", config.batch, std::clamp<int64_t>(kStepTokens / model.block_size, 1, config.batch));
  suits("warmup", config.warmup, kWarmup);
  suits("windows", config.windows, train::Windows::shuffled);
  suits("steps", config.steps, kSteps);
  suits("eval-every", config.eval_every, kEvery);
  suits("save-every", config.save_every, kEvery);
}

models::Decoder initial_model(const TrainConfig& config) {
  const DType matrices = train::dtype_of(config.weights);
  models::DecoderConfig whole = config.model;
  whole.block_size = std::max(whole.block_size, models::load_config(config.init_from).block_size);
  if (!config.adapter.empty())
    return files::read_folder(config.adapter, [&](const files::FolderSnapshot& files) {
      return models::load_with_adapter(config.init_from, files, whole, matrices);
    });
  models::Decoder model = files::read_folder(config.init_from, [&](const files::FolderSnapshot& files) {
    return models::load_pretrained(files, whole, matrices);
  });
  if (config.lora == 0) return model;
  Generator generator = Generator(static_cast<uint64_t>(config.seed)).stream("lora");
  nn::add_lora(model, config.lora_options(), generator);
  return model;
}

}  // namespace gradus::cli

// gradus info: shows the content of a run folder, or the memory that a model would take.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/cli/info/info_files.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/machine.hpp"
#include "gradus/cli/program/setting_flags.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/run_folder/read_run.hpp"
#include "gradus/train/train_json.hpp"
#include "gradus/train/trainer/metrics.hpp"

namespace gradus::cli {
namespace {

struct InfoFlags {
  std::string folder;
  SettingFlags shape;
  std::optional<int64_t> vocab, batch;

  bool has_shape() const { return vocab || shape.is_any_given(); }
};

void print_parameters(const nn::NamedShapes& stored) {
  std::vector<TableRow> rows{{"model.safetensors", "shape", "numbers"}};
  for (const auto& [name, shape] : stored)
    rows.push_back({files::plain(name), concat(shape), grouped(shape.numel())});
  std::cout << table(rows, {2});
}

void print_model(const models::DecoderConfig& config) {
  std::cout << fact("model", config.n_member > 1 ? concat("ensemble of ", config.n_member, ": ") : "",
                    models::sizes(config), ", ", config.vocab_size, " tokens, ",
                    models::architecture(config.arch).describe(config), "; ",
                    grouped(config.num_parameters()), " parameters");
}

void print_memory(const train::TrainConfig& config) {
  const models::MemoryEstimate m = train::training_memory(config);
  const int64_t block = config.model.block_size;
  const auto if_any = [](const char* what, double bytes) {
    return bytes > 0 ? concat(what, byte_size(bytes)) : "";
  };
  std::cout << fact("memory", byte_size(m.total()), " to train on batches of ", config.batch, ": parameters ",
                    byte_size(m.parameters), ", gradients ", byte_size(m.gradients), ", moments ",
                    byte_size(m.optimizer), if_any(", update ", m.update),
                    if_any(", means of them ", m.average), if_any(", packed ", m.packed), ", activations ",
                    byte_size(m.activations), ", program ", byte_size(m.program))
            << fact("", byte_size(models::generation_memory(config.model, block, block).total()),
                    " to sample");
}

/// The number of rows of the vocabulary that are not tokens, if the folder has a readable tokenizer.
void print_padding(const std::string& folder, const models::DecoderConfig& config) {
  try {
    const int64_t rest = config.vocab_size - train::load_tokenizer(folder).vocab_size();
    if (rest > 0)
      std::cout << fact("padding", grouped(rest), " rows of the vocabulary are not tokens; never sampled");
  } catch (const Error&) {  // Commands that need the tokenizer report the error.
  }
}

/// The state of the run in the folder; `how` explains how to resume it, `unit` is that of a loss.
void print_state(const train::RunFolder& run, int64_t steps, const char* how, const char* unit) {
  const bool is_state = std::filesystem::exists(run.path() / "trainer.json");  // last/, or a kept one
  if (!is_state && !run.has_last()) {
    std::cout << fact("state", "no checkpoint yet");
    return;
  }
  const auto read = [](const files::FolderSnapshot& state) {  // without the optimizer's tensors
    return train::checkpoint_from_json(state.text("trainer.json"),
                                       (state.folder() / "trainer.json").string());
  };
  const train::Checkpoint checkpoint = is_state ? files::read_folder(run.path(), read) : read_last(run, read);
  std::cout << fact("state", "step ", grouped(checkpoint.trainer.step), " of ", grouped(steps), "; ",
                    checkpoint.trainer.step < steps ? how : "finished");
  if (checkpoint.best_val_loss)
    std::cout << fact("best", decimals(*checkpoint.best_val_loss, 4), unit, ", the lowest validation loss");
  if (const auto end = train::logged_end(run.metrics()); end && end->steps == checkpoint.trainer.step)
    std::cout << fact("at the end", decimals(*end->val_loss, 4), unit, " on ", grouped(end->val_tokens),
                      " tokens of the validation text");
}

void print_run(const train::RunFolder& run, const train::TrainConfig& config) {
  std::vector<std::string> texts = config.text;
  for (const std::string& other : {config.val_text, config.tokens, config.val_tokens, config.corpus})
    if (!other.empty()) texts.push_back(other);
  std::cout << fact("trained on", joined(texts, " ", files::plain), texts.empty() ? "" : " ", "(tokenizer ",
                    files::plain(config.tokenizer), "), ",
                    config.init_from.empty() ? concat("preset ", files::plain(config.preset), ", ") : "",
                    "seed ", config.seed);
  if (!config.init_from.empty()) std::cout << fact("began as", files::plain(config.init_from));
  print_state(run, config.steps, "--resume continues it", " nats a token");
}

int info_of_machine() {
  const Machine m = this_machine();
  const Peak peak = measure_peak();
  const std::string &blas = kernels::blas_kernels_found(), now = kernels::blas_kernels();
  const bool has_own = kernels::own_products_beat_blas();
  std::cout << fact("machine", files::plain(m.cpu), ", ", m.cores, m.cores == 1 ? " core; " : " cores; ",
                    m.system)
            << fact("peak", decimals(peak.gflops, 0), " GFLOP/s in float32, ", decimals(peak.bf16_gflops, 0),
                    " in bfloat16 and ", decimals(peak.read_gb_s, 1), " GB/s of memory read, by ",
                    num_threads(), num_threads() == 1 ? " thread" : " threads")
            << fact("gradus", GRADUS_VERSION, ", ", m.compiler, ", ", m.level, " (it can run ",
                    joined(kernels::available_isas(), ", ", kernels::isa_name<kernels::Level>), ")")
            << fact("products", m.blas, blas == now ? "" : concat("; its own choice is ", blas, " ones"),
                    has_own ? "; large ones by gradus, with AVX-512" : "")
            << fact("units", m.units.empty() ? "none for products of 8 or 16 bits" : m.units,
                    "; bfloat16 by ", peak.unit);
  const std::vector<std::string> faults = what_holds_back();
  if (faults.empty()) std::cout << fact("held back", "by nothing that is known here");
  for (const std::string& fault : faults)
    std::cout << fact(&fault == &faults.front() ? "held back" : "", fault);
  return kDone;
}

/// The sizes of a model that need not exist.
int info_of_shape(const InfoFlags& flags) {
  const train::TrainConfig& given = flags.shape.config;
  train::TrainConfig config = flags.shape.given(
      train::preset(flags.shape.is_given("preset") ? given.preset : train::usual_preset(given.model.arch)));
  config.model.vocab_size = flags.vocab.value_or(65);
  config.model.validate();
  config.batch = flags.batch.value_or(config.batch);
  print_model(config.model);
  print_memory(config);
  return kDone;
}

/// The settings in a folder of train::fit(); none for any other folder.
std::optional<train::LoopOptions> own_options(const train::RunFolder& run) {
  if (std::filesystem::exists(run.path() / "config.json") || !run.has_run()) return {};
  return read_recipe(run, [](const auto& text, const auto& name) -> std::optional<train::LoopOptions> {
    if (!train::is_loop_options(text, name)) return {};
    return train::loop_options_from_json(text, name);
  });
}

/// The content of the files of a model that is not the decoder.
int info_of_own(const train::RunFolder& run, const train::LoopOptions& options) {
  const auto stored = files::read_folder(run.path(), [](const files::FolderSnapshot& files) {
    const nn::SafetensorsFile file(files.folder() / nn::kTensorFile, files.checksum(nn::kTensorFile),
                                   nn::SafetensorsFile::Compared::header);
    nn::NamedShapes shapes;
    for (const nn::TensorEntry& entry : file.header().entries) shapes.emplace_back(entry.name, entry.shape);
    return shapes;
  });
  int64_t count = 0;
  for (const auto& [name, shape] : stored) count += shape.numel();
  print_parameters(stored);
  std::cout << fact("model", "not a decoder of gradus; ", grouped(count), " parameters")
            << fact("trained", "in steps of ", options.accum * options.batch, " examples, seed ",
                    options.seed);
  print_state(run, options.steps, "train::fit() continues it", "");
  return kDone;
}

int info_of_folder(const std::string& folder, std::optional<int64_t> batch) {
  const train::RunFolder run(folder);
  if (const std::optional<train::LoopOptions> own = own_options(run)) {
    if (batch)
      fail("info", "--batch must be left out for a model that is not a decoder of gradus, got ", *batch, ".");
    return info_of_own(run, *own);
  }
  const models::DecoderConfig config = models::check_pretrained(folder);
  const bool is_run = std::filesystem::exists(run.path() / "train.json");
  train::TrainConfig trained = is_run ? train::load_config(run) : train::TrainConfig{};
  trained.model = config;
  const std::string version = models::written_by(folder);
  print_parameters(models::stored_shapes(config));
  print_model(config);
  print_padding(folder, config);
  std::cout << fact("written by", version.empty() ? "another program" : "gradus " + files::plain(version));
  trained.batch = batch.value_or(trained.batch);
  print_memory(trained);
  if (is_run) print_run(run, trained);
  return kDone;
}

int info(const InfoFlags& flags) {
  if (flags.folder.empty() && !flags.has_shape() && !flags.batch) return info_of_machine();
  if (flags.folder.empty()) return info_of_shape(flags);
  if (flags.has_shape())
    fail("info",
         "a folder and the shape of a model must not come together, got both. Hint: of a folder, only "
         "--batch can be chosen.");
  if (std::error_code ignored; std::filesystem::exists(flags.folder, ignored) &&
                               !std::filesystem::is_directory(flags.folder, ignored)) {
    if (flags.batch) fail("info", "--batch must be left out for a file of tensors, got ", *flags.batch, ".");
    return info_of_file(flags.folder);
  }
  return info_of_folder(flags.folder, flags.batch);
}

}  // namespace

Action add_info(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<InfoFlags>();
  verb.add_option("folder", flags->folder,
                  "Run folder, or a folder with config.json and model.safetensors;\n"
                  "or a file: safetensors or an index of shards, GGUF, a checkpoint\n"
                  "of PyTorch (.pt, .pth, .bin), a pickle")
      ->type_name("PATH");
  for (const train::Setting& row : train::settings())
    if (row.has(train::Setting::kSize)) flags->shape.add(verb, row);
  add_value(verb, "--vocab", flags->vocab, "N", "Size of the vocabulary [65]");
  add_value(verb, "--batch", flags->batch, "N", "Micro-batch size [the run's or preset's]", kFrom1);
  verb.footer(with_program(
      R"(Without arguments, info describes this machine and what limits its speed.
Memory is the peak of a training step, accurate to a tenth, without the text
and evaluations.

Examples:
  $ info
  $ info out/kjv-mini
  $ info out/kjv-mini/last --batch 32
  $ info out/kjv-mini/model.safetensors
  $ info --preset gpt2 --vocab 50257 --batch 1)",
      program));
  return {[=] { return info(*flags); }};
}

}  // namespace gradus::cli

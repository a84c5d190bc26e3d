// gradus info: what is in a run folder.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "gradus/autograd/error.hpp"
#include "gradus/models/gpt2_files.hpp"
#include "gradus/train/memory.hpp"
#include "gradus/train/run_folder.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace gradus::cli {
namespace {

void print_memory(const models::GPTConfig& config, int64_t batch) {
  const models::MemoryEstimate training = models::training_memory(config, batch);
  std::cout << "memory      " << byte_size(training.parameters) << " of parameters; about "
            << byte_size(models::generation_memory(config).total()) << " to sample, "
            << byte_size(training.total()) << " to train on batches of " << batch << "\n";
}

void print_state(const train::RunFolder& run, const train::TrainConfig& config) {
  std::cout << "trained on  ";
  for (const std::string& file : config.text) std::cout << file << " ";
  std::cout << config.corpus << (config.corpus.empty() ? "" : " ") << "(" << config.tokenizer << "s), preset "
            << config.preset << ", seed " << config.seed << "\n";
  if (!run.has_last()) {
    std::cout << "state       no checkpoint yet\n";
    return;
  }
  const train::Checkpoint checkpoint = run.load_last();
  std::cout << "state       step " << grouped(checkpoint.trainer.step) << " of " << grouped(config.steps)
            << (checkpoint.trainer.step < config.steps ? "; --resume goes on" : "; finished") << "\n";
  if (checkpoint.best_val_loss)
    std::cout << "best        " << decimals(*checkpoint.best_val_loss, 4)
              << " nats a token on the validation text\n";
}

int info(const std::string& folder) {
  const models::GPTConfig config = models::load_config(folder);
  train::check_memory(models::generation_memory(config), "free some.");
  const models::GPT model = models::load_pretrained(folder);
  const train::RunFolder run(folder);
  const bool is_run = std::filesystem::exists(run.path() / "train.json");
  const train::TrainConfig trained = is_run ? run.load_config() : train::TrainConfig{};

  std::cout << model.summary() << "\n"
            << "model       " << config.n_layer << " layers, " << config.n_head << " heads, " << config.n_embd
            << " wide, block " << config.block_size << ", " << config.vocab_size << " tokens, "
            << (config.bias ? "with" : "without") << " biases\n";
  print_memory(config, trained.batch);
  if (is_run) print_state(run, trained);
  std::cout << std::flush;
  if (!std::cout) throw RunError("[info] the standard output must be writable, got an error.");
  return kDone;
}

}  // namespace

Verb add_info(CLI::App& app, const std::string& program) {
  CLI::App* verb = app.add_subcommand("info", "Parameters, memory and training state of a run folder");
  auto folder = std::make_shared<std::string>();
  verb->add_option("folder", *folder, "Run folder, or any with config.json and model.safetensors")
      ->type_name("DIR")
      ->required();
  verb->footer(
      concat("Examples:\n  ", program, " info out/kjv-nano\n  ", program, " info out/kjv-nano/last"));
  return {verb, [folder] { return info(*folder); }};
}

}  // namespace gradus::cli

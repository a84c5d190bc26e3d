#include "gradus/cli/sample/model_flags.hpp"

#include <algorithm>

#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/setting_flags.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/data/chat.hpp"
#include "gradus/train/memory.hpp"

namespace gradus::cli {

void add_model_flags(CLI::App& verb, ModelFlags& flags) {
  add_value(verb, "folder", flags.folder, "DIR",
            "Run folder, or a folder with config.json, model.safetensors\nand a tokenizer, or a checkpoint "
            "(ckpt.pt)")
      ->required();
  add_value(verb, "--tokenizer", flags.tokenizer, "FROM",
            "Folder of a tokenizer, or tokenizer.json, instead of the model's");
  add_value(verb, "--adapter", flags.adapter, "DIR",
            "Folder of a LoRA adapter of the model, in PEFT's files");
  one_of(verb,
         add_value(verb, "--weights", flags.weights, "NAME",
                   concat("Format of the weights: ", listed(train::weights_names()),
                          "; fewer\nbits take less memory and time")),
         train::weights_names);
}

void add_chat_format(CLI::App& verb, std::string& name) {
  one_of(verb,
         add_value(verb, flag_of("chat_format", nullptr), name, "NAME",
                   "Format of conversations [that of training or of the template]"),
         data::chat_format_names);
}

std::string chat_format_of(const std::string& name, const std::string& folder) {
  const train::RunFolder run(folder);
  return name.empty() && run.has_last() ? train::load_config(run).chat_format : name;
}

void SamplingFlags::settle() {
  if (greedy) options.temperature = 0;
  options.validate();
}

void add_sampling_flags(CLI::App& verb, SamplingFlags& flags) {
  add_value(verb, "--tokens", flags.options.max_new_tokens, "N", "Tokens to add");
  add_value(verb, "--temperature", flags.options.temperature, "F",
            "Divisor of the logits: below 1 for more likely tokens, above 1\nfor more variety");
  add_value(verb, "--top-k", flags.options.top_k, "N",
            "Draw only from the N most likely tokens; 0: from all tokens");
  add_value(verb, "--top-p", flags.options.top_p, "P",
            "Draw only from the most likely tokens with total probability P");
  add_value(verb, "--min-p", flags.options.min_p, "P",
            "Draw only from tokens at least P times as likely as the likeliest");
  add_value(verb, "--repetition-penalty", flags.options.repetition_penalty, "F",
            "Above 1: tokens of the prompt and text become less likely");
  verb.add_flag("--greedy", flags.greedy, "Always take the most likely token, without drawing");
  add_value(verb, "--draft", flags.options.draft, "N",
            "Guess up to N tokens (0 to 7) from repetitions: the same text,\nfaster with a large model");
  add_value(verb, "--seed", flags.seed, "N", "Seed of the random numbers", kFrom0);
}

void check_single(std::string_view verb, const models::DecoderConfig& config, const std::string& folder) {
  if (config.n_member > 1)
    fail(verb, folder, " must be one model, got an ensemble of ", config.n_member,
         ". Hint: take one of its members.");
}

train::TrainedModel load_model(const ModelFlags& flags, const models::DecoderConfig& config, int64_t tokens) {
  tokens = std::min(tokens, config.block_size);
  return load_model(flags, config, models::generation_memory(config, tokens, tokens));
}

train::TrainedModel load_model(const ModelFlags& flags, const models::DecoderConfig& config,
                               const models::MemoryEstimate& need) {
  train::check_memory(need, "free some, or use a smaller model.");
  train::TrainedModel trained = train::load_trained(flags.folder, flags.tokenizer, flags.adapter);
  constexpr int64_t kUsualPadding = 1024;
  if (const int64_t padding = config.vocab_size - trained.tokenizer.vocab_size(); padding >= kUsualPadding)
    Messages(false).line(concat("note: the model has rows for ", grouped(padding),
                                " tokens that its tokenizer does not have; they are never sampled"));
  trained.model.to(train::weights_dtype(flags.weights));
  return trained;
}

}  // namespace gradus::cli

// The flags of sample, chat and eval that select the model.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "gradus/models/generate.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::cli {

struct ModelFlags {
  std::string folder, tokenizer, adapter;
  std::string weights = "float32";  ///< the type in which matrices are stored
};

/// Adds DIR, --tokenizer, --adapter and --weights to `verb`.
void add_model_flags(CLI::App& verb, ModelFlags& flags);

/// Adds --chat-format to `verb`.
void add_chat_format(CLI::App& verb, std::string& name);

/// The format `name`, or if it is empty the one that the run of the folder was trained with; mostly "".
std::string chat_format_of(const std::string& name, const std::string& folder);

/// How tokens are drawn.
struct SamplingFlags {
  models::SampleOptions options{.max_new_tokens = 500, .temperature = 0.8, .top_k = 0, .top_p = 1.0};
  bool greedy = false;
  int64_t seed = 1337;

  /// Applies `greedy` to the options. Throws Error for a wrong value.
  void settle();
};

/// Adds --tokens, --temperature, --top-k, --top-p, --min-p, --repetition-penalty, --greedy, --draft, --seed.
void add_sampling_flags(CLI::App& verb, SamplingFlags& flags);

/// Throws Error, naming `verb`, if the model of the folder is an ensemble.
void check_single(std::string_view verb, const models::DecoderConfig& config, const std::string& folder);

/// Loads the model, whose config is `config`, and rounds its matrices. Throws Error if memory is too small
/// for it with a sequence of `tokens` tokens, of which the context has at most block_size.
train::TrainedModel load_model(const ModelFlags& flags, const models::DecoderConfig& config, int64_t tokens);
/// The same for another estimate of the memory.
train::TrainedModel load_model(const ModelFlags& flags, const models::DecoderConfig& config,
                               const models::MemoryEstimate& need);

}  // namespace gradus::cli

// gradus sample: text from a trained model.
#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>

#include "field_flags.hpp"
#include "gradus/autograd/error.hpp"
#include "gradus/data/text.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/memory.hpp"
#include "text_output.hpp"
#include "verbs.hpp"
#include "weights_flag.hpp"
#include "whole_number.hpp"

namespace gradus::cli {
namespace {

struct SampleFlags {
  std::string folder, tokenizer, prompt;
  models::SampleOptions options{.max_new_tokens = 500, .temperature = 0.8, .top_k = 0, .top_p = 1.0};
  std::string weights = "float32";
  bool greedy = false, bfloat16 = false;
  int64_t count = 1, seed = 1337;
};

const FieldFlags kOptionFlags{{"max_new_tokens", "--tokens"},
                              {"temperature", "--temperature"},
                              {"top_k", "--top-k"},
                              {"top_p", "--top-p"}};

/// The prompt as a text for that tokenizer; what comes in by the standard input is taken without the line end
/// that a shell adds. Throws Error if it cannot be encoded.
std::string prompt_of(const SampleFlags& flags, const data::Tokenizer& tokenizer) {
  const bool piped = flags.prompt == "-";
  std::string bytes = piped ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : flags.prompt;
  const std::string name = piped ? "the prompt on the standard input" : "--prompt";
  std::string prompt = data::make_text({{name, std::move(bytes)}}, data::TextRules::of(tokenizer)).text;
  if (piped && prompt.ends_with('\n')) prompt.pop_back();
  (void)tokenizer.encode(prompt);
  return prompt;
}

int sample(SampleFlags flags) {
  if (flags.greedy) flags.options.temperature = 0;
  naming_flags("sample", kOptionFlags, [&] { flags.options.validate(); });
  if (flags.bfloat16 && flags.weights != "float32" && flags.weights != "bfloat16")
    fail("sample", "--bfloat16 and --weights ", flags.weights, " must not come together, got both.");
  check_weights("sample", flags.weights);
  if (flags.count < 1) fail("sample", "--count must be a whole number of at least 1, got ", flags.count, ".");
  if (flags.seed < 0) fail("sample", "--seed must be a whole number of at least 0, got ", flags.seed, ".");

  const models::GPTConfig config = models::check_pretrained(flags.folder);
  const std::string prompt = prompt_of(
      flags, train::load_tokenizer(flags.folder, flags.tokenizer));  // Refused before the model is read.
  train::check_memory(models::generation_memory(config), "free some, or use a smaller model.");
  auto [model, tokenizer] = train::load_trained(flags.folder, flags.tokenizer);
  keep_weights(model, flags.bfloat16 ? "bfloat16" : flags.weights);

  Generator stream = Generator(static_cast<uint64_t>(flags.seed)).stream("sample");
  for (int64_t i = 0; i < flags.count; ++i) {
    if (i > 0) std::cout << "\n---\n";
    write_sample(model, tokenizer, prompt, flags.options, stream, std::cout);
    std::cout << std::endl;
  }
  return kDone;
}

}  // namespace

Verb add_sample(CLI::App& app, const std::string& program) {
  CLI::App* verb = app.add_subcommand("sample", "Write text with a trained model");
  auto flags = std::make_shared<SampleFlags>();
  const auto add = [&]<class T>(const char* name, T& value, const char* unit, const char* help) {
    CLI::Option* option = verb->add_option(name, value, help)->type_name(unit)->take_last();
    if constexpr (std::is_same_v<T, int64_t>) whole_number(*verb, option);
    return option;
  };
  add("folder", flags->folder, "DIR", "Run folder, or any with config.json, model.safetensors, tokenizer")
      ->required();
  add("--tokenizer", flags->tokenizer, "FROM", "Another than the folder's: a folder or tokenizer.json");
  add("--prompt", flags->prompt, "TEXT", "What the text begins with; - reads it from the standard input");
  add("--tokens", flags->options.max_new_tokens, "N", "Tokens to add")->capture_default_str();
  add("--temperature", flags->options.temperature, "F", "Below 1 plays safe, above 1 dares")
      ->capture_default_str();
  add("--top-k", flags->options.top_k, "N", "Only the N likeliest tokens; 0 takes all")
      ->capture_default_str();
  add("--top-p", flags->options.top_p, "P", "Only the likeliest that make up P")->capture_default_str();
  verb->add_flag("--greedy", flags->greedy, "Always the likeliest token; nothing is drawn");
  add_weights_flag(*verb, flags->weights);
  verb->add_flag("--bfloat16", flags->bfloat16, "The same as --weights bfloat16");
  add("--count", flags->count, "N", "Texts to write")->capture_default_str();
  add("--seed", flags->seed, "N", "Decides what is drawn")->capture_default_str();
  verb->footer(concat("Examples:\n  ", program,
                      " sample out/kjv-nano --prompt \"In the beginning\" --tokens 200\n  echo 'And God' | ",
                      program, " sample out/kjv-nano --prompt - --top-p 0.9 --count 3 --seed 7"));
  return {verb, [flags] { return sample(*flags); }};
}

}  // namespace gradus::cli

// gradus sample: text from a trained model.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/cli/program/field_flags.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/cli/program/whole_number.hpp"
#include "gradus/tools/cli/sample/prompt_input.hpp"
#include "gradus/tools/cli/sample/sample_session.hpp"
#include "gradus/tools/cli/sample/weights_flag.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/memory.hpp"

namespace gradus::cli {
namespace {

struct SampleFlags {
  std::string folder, tokenizer, prompt;
  std::vector<std::string> stop;
  models::SampleOptions options{.max_new_tokens = 500, .temperature = 0.8, .top_k = 0, .top_p = 1.0};
  std::string weights = "float32";
  bool greedy = false, bfloat16 = false;
  int64_t count = 1, seed = 1337;
};

const FieldFlags kOptionFlags{{"max_new_tokens", "--tokens"},
                              {"temperature", "--temperature"},
                              {"top_k", "--top-k"},
                              {"top_p", "--top-p"},
                              {"min_p", "--min-p"},
                              {"repetition_penalty", "--repetition-penalty"},
                              {"draft", "--draft"}};

/// A string that the vocabulary cannot spell would never come.
void check_stop(const std::vector<std::string>& strings, const data::Tokenizer& tokenizer) {
  for (const std::string& string : strings) {
    if (string.empty()) fail("sample", "--stop must be a text, got none.");
    try {
      (void)tokenizer.encode(string);
    } catch (const Error& e) {
      fail("sample", "--stop must be a text that the model can write, got ", files::in_quotes(string), ": ",
           e.what());
    }
  }
}

int sample(SampleFlags flags, bool prompt_given) {
  if (flags.greedy) flags.options.temperature = 0;
  naming_flags("sample", kOptionFlags, [&] { flags.options.validate(); });
  if (flags.bfloat16 && flags.weights != "float32" && flags.weights != "bfloat16")
    fail("sample", "--bfloat16 and --weights ", flags.weights, " must not come together, got both.");
  check_weights("sample", flags.weights);
  if (flags.count < 1) fail("sample", "--count must be a whole number of at least 1, got ", flags.count, ".");
  if (flags.seed < 0) fail("sample", "--seed must be a whole number of at least 0, got ", flags.seed, ".");

  const models::DecoderConfig config = models::check_pretrained(flags.folder);
  {  // Refused before the model is read.
    const data::Tokenizer tokenizer = train::load_tokenizer(flags.folder, flags.tokenizer);
    flags.prompt = read_prompt(flags.prompt, tokenizer);
    check_stop(flags.stop, tokenizer);
  }
  train::check_memory(models::generation_memory(config), "free some, or use a smaller model.");
  auto [model, tokenizer] = train::load_trained(flags.folder, flags.tokenizer);
  keep_weights(model, flags.bfloat16 ? "bfloat16" : flags.weights);

  Generator stream = Generator(static_cast<uint64_t>(flags.seed)).stream("sample");
  const auto write = [&, &model = model, &tokenizer = tokenizer](const std::string& prompt,
                                                                 const std::function<bool()>& interrupted) {
    for (int64_t i = 0; i < flags.count && !(interrupted && interrupted()); ++i) {
      if (i > 0) std::cout << "\n---\n";
      write_sample(model, tokenizer, prompt, flags.options, stream, std::cout, {flags.stop, interrupted});
      std::cout << std::endl;
    }
  };
  if (prompt_given || !is_talking_to_somebody())
    write(flags.prompt, {});
  else
    sample_session(tokenizer, write);
  return kDone;
}

}  // namespace

Action add_sample(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<SampleFlags>();
  const auto add = [&]<class T>(const char* name, T& value, const char* unit, const char* help) {
    CLI::Option* option = verb.add_option(name, value, help)->type_name(unit)->take_last();
    if constexpr (std::is_same_v<T, int64_t>) whole_number(verb, option);
    return option;
  };
  add("folder", flags->folder, "DIR", "Run folder, or any with config.json, model.safetensors, tokenizer")
      ->required();
  add("--tokenizer", flags->tokenizer, "FROM", "Another than the folder's: a folder or tokenizer.json");
  const CLI::Option* prompt = add("--prompt", flags->prompt, "TEXT",
                                  "What the text begins with; - reads it from the standard input\n"
                                  "[on a terminal: asked for, again and again]");
  add("--tokens", flags->options.max_new_tokens, "N", "Tokens to add")->capture_default_str();
  add("--temperature", flags->options.temperature, "F", "Below 1 plays safe, above 1 dares")
      ->capture_default_str();
  add("--top-k", flags->options.top_k, "N", "Only the N likeliest tokens; 0 takes all")
      ->capture_default_str();
  add("--top-p", flags->options.top_p, "P", "Only the likeliest that make up P")->capture_default_str();
  add("--min-p", flags->options.min_p, "P", "Only what is at least P times as likely as the likeliest")
      ->capture_default_str();
  add("--repetition-penalty", flags->options.repetition_penalty, "F",
      "Above 1: what was in prompt or text comes less often")
      ->capture_default_str();
  verb.add_option("--stop", flags->stop, "End the text before this one; may be given several times")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  verb.add_flag("--greedy", flags->greedy, "Always the likeliest token; nothing is drawn");
  add("--draft", flags->options.draft, "N",
      "Guess up to N tokens (0 to 7) from repetitions: the same text,\nsooner from a large model")
      ->capture_default_str();
  add_weights_flag(verb, flags->weights);
  verb.add_flag("--bfloat16", flags->bfloat16, "The same as --weights bfloat16");
  add("--count", flags->count, "N", "Texts to write")->capture_default_str();
  add("--seed", flags->seed, "N", "Decides what is drawn")->capture_default_str();
  verb.footer(concat(
      "Without --prompt, on a terminal, it asks for one, writes and asks again: Ctrl-C stops a\n"
      "text, Ctrl-D ends.\n\nOf --repetition-penalty F the logits above 0 of what came before, in "
      "the prompt or the text\nso far, are divided by F, those below multiplied. Past the model's block "
      "it sees the last\ntokens of a block only, and each further token costs what a whole block does.\n\n"
      "Examples:\n  ",
      program, " sample out/kjv-mini --prompt \"In the beginning\" --tokens 200\n  ", program,
      " sample out/kjv-mini --prompt \"And God said\" --stop . --stop \"And \"\n  echo 'And God' | ", program,
      " sample out/kjv-mini --prompt - --top-p 0.9 --count 3 --seed 7"));
  return {[flags, prompt] { return sample(*flags, prompt->count() > 0); }};
}

}  // namespace gradus::cli

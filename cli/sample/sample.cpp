// gradus sample: generates text with a trained model.
#include <iostream>
#include <memory>

#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/cli/sample/model_flags.hpp"
#include "gradus/cli/sample/prompt_input.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/stored/pretrained.hpp"

namespace gradus::cli {
namespace {

struct SampleFlags {
  ModelFlags model;
  std::string prompt;
  std::vector<std::string> stop;
  SamplingFlags sampling;
  bool bfloat16 = false;
  int64_t count = 1;
};

/// A string that the vocabulary cannot encode never occurs.
void check_stop(const std::vector<std::string>& strings, const data::Tokenizer& tokenizer) {
  for (const std::string& string : strings) {
    if (string.empty()) fail("sample", "--stop must be a text, got none.");
    try {
      (void)tokenizer.encode(string);
    } catch (const Error& e) {
      fail("sample", "--stop must be a text that the model can write, got ", files::in_quotes(string), ": ",
           files::without_op(e.what()));
    }
  }
}

int sample(SampleFlags flags, bool prompt_given) {
  flags.sampling.settle();
  std::string& weights = flags.model.weights;
  if (flags.bfloat16 && weights != "float32" && weights != "bfloat16")
    fail("sample", "--bfloat16 and --weights ", weights, " must not come together, got both.");
  if (flags.bfloat16) weights = "bfloat16";

  const models::DecoderConfig config = models::check_pretrained(flags.model.folder);
  int64_t tokens = flags.sampling.options.max_new_tokens;
  {  // A wrong prompt is refused before the model is read.
    const data::Tokenizer tokenizer = train::load_tokenizer(flags.model.folder, flags.model.tokenizer);
    flags.prompt = read_prompt(flags.prompt, tokenizer);
    check_stop(flags.stop, tokenizer);
    tokens += std::ssize(prompt_tokens(tokenizer, flags.prompt));
  }
  auto [model, tokenizer] = load_model(flags.model, config, tokens);

  Generator stream = Generator(static_cast<uint64_t>(flags.sampling.seed)).stream("sample");
  const auto write = [&, &model = model, &tokenizer = tokenizer](const std::string& prompt,
                                                                 const std::function<bool()>& interrupted) {
    for (int64_t i = 0; i < flags.count && !(interrupted && interrupted()); ++i) {
      if (i > 0) std::cout << "\n---\n";
      write_sample(model, tokenizer, prompt, flags.sampling.options, stream, std::cout,
                   {flags.stop, interrupted});
      std::cout << std::endl;
    }
  };
  if (prompt_given || !is_interactive())
    write(flags.prompt, {});
  else
    sample_session(
        tokenizer,
        "Type how a text begins; an empty line leaves that to the model. Ctrl-C stops a text, Ctrl-D ends.",
        write);
  return kDone;
}

}  // namespace

Action add_sample(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<SampleFlags>();
  add_model_flags(verb, flags->model);
  const CLI::Option* prompt = add_value(verb, "--prompt", flags->prompt, "TEXT",
                                        "The beginning of the text; - reads it from the standard input\n"
                                        "[on a terminal, sample asks for prompts]");
  add_sampling_flags(verb, flags->sampling);
  verb.add_option("--stop", flags->stop, "End the text before this string; may be given several times")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  verb.add_flag("--bfloat16", flags->bfloat16, "The same as --weights bfloat16");
  add_value(verb, "--count", flags->count, "N", "Texts to write", kFrom1);
  set_usual_flags(verb, {"--adapter", "--weights", "--prompt", "--tokens", "--temperature", "--top-k",
                         "--top-p", "--greedy", "--seed", "--stop", "--count"});
  verb.footer(with_program(
      R"(Without --prompt, on a terminal, sample asks for a prompt, writes a text and asks again.
Ctrl-C stops the text, and Ctrl-D ends the program.

For tokens in the prompt or in the text so far, --repetition-penalty F divides positive logits
by F and multiplies negative logits by F. Beyond the context length, the model sees only the
last tokens, and each further token costs as much as a whole context.

Examples:
  $ sample out/kjv-mini --prompt "In the beginning" --tokens 200
  $ sample out/kjv-mini --prompt "And God said" --stop . --stop "And "
  echo 'And God' | $ sample out/kjv-mini --prompt - --top-p 0.9 --count 3 --seed 7)",
      program));
  return {[flags, prompt] { return sample(*flags, prompt->count() > 0); }};
}

}  // namespace gradus::cli

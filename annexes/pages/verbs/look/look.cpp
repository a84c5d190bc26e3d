// gradus look: shows what a model computes for a text, and what changes when a part of it is replaced.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "gradus/annexes/pages/frame.hpp"
#include "gradus/annexes/pages/look/look.hpp"
#include "gradus/annexes/pages/verbs/look/print.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/cli/sample/model_flags.hpp"
#include "gradus/cli/sample/prompt_input.hpp"
#include "gradus/data/text.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/watch.hpp"

namespace gradus::cli {
namespace {

using look::Look;

struct LookFlags {
  ModelFlags model;
  std::string prompt, text, tensors, html, from;
  std::vector<std::string> points, ablate, scale, patch;
  std::optional<int64_t> position;
  bool heads = false, json = false, list = false;

  bool changes() const { return !ablate.empty() || !scale.empty() || !patch.empty(); }
};

double factor_of(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string digits = equals == std::string::npos ? "" : text.substr(equals + 1);
  char* end = nullptr;
  const double factor = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != '\0' || !std::isfinite(factor))
    fail("look", "--scale must be POINT=FACTOR, as in h.2.mlp=0.5, got '", text, "'.");
  return factor;
}

/// The interventions of the flags, for as long as they live. `source` has the tokens of --from.
std::vector<nn::Intervention> interventions(models::Decoder& model, const LookFlags& flags,
                                            const std::vector<int64_t>& source) {
  const std::vector<std::string> patched = look::own_points(model, "--patch", flags.patch);
  std::map<std::string, Tensor> other;  // before anything is changed
  if (!patched.empty())
    for (const auto& [name, value] : look::look_at(model, source, patched).activations)
      other.emplace(name, value);

  std::vector<nn::Intervention> all;
  const auto add = [&](const std::vector<std::string>& points, nn::Intervention::Function replace) {
    if (flags.position)  // of values (..., T, n)
      replace = [at = static_cast<double>(*flags.position), replace](const Tensor& x,
                                                                     const std::string& name) {
        const Tensor positions = arange(0, static_cast<double>(x.size(-2))).unsqueeze(1);
        return where(eq(positions, at), replace(x, name), x);
      };
    all.emplace_back(model, points, std::move(replace));
  };
  add(look::own_points(model, "--ablate", flags.ablate),
      [](const Tensor& x, const auto&) { return zeros(x.shape(), x.dtype()); });
  for (const std::string& text : flags.scale)
    add(look::own_points(model, "--scale", {text.substr(0, text.find('='))}),
        [f = factor_of(text)](const Tensor& x, const auto&) { return x * f; });
  add(patched, [other](const Tensor&, const std::string& name) { return other.at(name); });
  return all;
}

std::vector<int64_t> tokens_of(const char* flag, const std::string& text, const data::Tokenizer& tokenizer,
                               const models::DecoderConfig& config) {
  const std::vector<int32_t> tokens = tokenizer.encode_from_start(text);
  const auto count = static_cast<int64_t>(tokens.size());
  if (count < 1 || count > config.block_size)
    fail("look", flag, " must have 1 to ", config.block_size, " tokens, the context length, got ", count,
         ".");
  return {tokens.begin(), tokens.end()};
}

void check(const LookFlags& flags) {
  if (flags.patch.empty() != flags.from.empty())
    fail("look", "--patch needs a prompt in --from, and --from needs --patch.");
  if (flags.position && !flags.changes()) fail("look", "--position needs --ablate, --scale or --patch.");
  if (!flags.prompt.empty() && !flags.text.empty())
    fail("look", "the text must come from --prompt or from --text, got both.");
  if (flags.prompt.empty() && flags.text.empty() && !flags.list)
    fail("look", "--prompt must have at least one token, got none. Hint: --text reads a file.");
  if (flags.changes() && (flags.heads || !flags.html.empty()))
    fail("look",
         "--heads and --html must be without --ablate, --scale and --patch, got both. Hint: they show the ",
         "loss without each head.");
  if (!flags.html.empty()) files::check_replaceable("look", "--html", flags.html, pages::is_page_of("look"));
  if (!flags.tensors.empty())
    files::check_replaceable("look", "--tensors", flags.tensors, LookReport::is_tensors);
}

/// The tokens of --prompt, or the first ones of --text.
std::vector<int64_t> text_tokens(const LookFlags& flags, const data::Tokenizer& tokenizer,
                                 const models::DecoderConfig& config, TextOrigin& origin) {
  if (flags.text.empty()) {
    const std::vector<int64_t> tokens =
        tokens_of("--prompt", read_prompt(flags.prompt, tokenizer), tokenizer, config);
    origin.token_count = std::ssize(tokens);
    return tokens;
  }
  const std::vector<data::Source> sources = data::read_sources({flags.text});
  if (data::are_examples(sources))
    fail("look", "--text must be plain text, got examples in JSON. Hint: --prompt takes the text of one.");
  const data::Text text = data::make_text(sources, data::TextRules::of(tokenizer));
  const std::vector<int32_t> tokens = tokenizer.encode_from_start(text.text);
  origin = {.file = flags.text == "-" ? "the standard input" : flags.text, .token_count = std::ssize(tokens)};
  if (const std::string note = text.note(); !note.empty()) Messages(false).line("note: " + note);
  const int64_t used = std::min(origin.token_count, config.block_size);
  if (used < origin.token_count)
    Messages(false).line(concat("note: reads the first ", grouped(used), " of ", grouped(origin.token_count),
                                " tokens of ", origin.file, "; the context has no more"));
  return {tokens.begin(), tokens.begin() + used};
}

int run(const LookFlags& flags) {
  check(flags);
  const models::DecoderConfig config = models::check_pretrained(flags.model.folder);
  check_single("look", config, flags.model.folder);
  TextOrigin origin;
  std::vector<int64_t> tokens;
  if (!flags.list) {
    const data::Tokenizer known = train::load_tokenizer(flags.model.folder, flags.model.tokenizer);
    tokens = text_tokens(flags, known, config, origin);
  }
  auto [model, tokenizer] = load_model(flags.model, config, std::ssize(tokens));
  if (flags.list) {
    for (const std::string& point : look::points_of(model)) std::cout << point << "\n";
    return kDone;
  }
  const auto length = static_cast<int64_t>(tokens.size());
  if (flags.position && (*flags.position < 0 || *flags.position >= length))
    fail("look", "--position must be from 0 to ", length - 1, ", got ", *flags.position, ".");
  std::vector<int64_t> source;
  if (!flags.from.empty()) {
    source = tokens_of("--from", read_prompt(flags.from, tokenizer), tokenizer, config);
    if (source.size() != tokens.size())
      fail("look", "--from must have as many tokens as --prompt, ", length, ", got ", source.size(), ".");
  }

  const std::vector<std::string> points = look::own_points(model, "--points", flags.points);
  std::optional<Look> unchanged;
  if (flags.changes()) unchanged = look::look_at(model, tokens, {});
  const std::vector<nn::Intervention> changes = interventions(model, flags, source);
  const bool to_file = !flags.tensors.empty() || !flags.html.empty();
  const Look look = look::look_at(model, tokens, points, flags.heads || !flags.html.empty());

  const LookReport report(tokenizer, look, unchanged, origin);
  if (!flags.tensors.empty()) report.tensors(flags.tensors);
  if (!flags.html.empty())
    report.html(flags.html, files::absolute_path(flags.model.folder).filename(),
                concat(models::sizes(config), ", ", models::architecture(config.arch).describe(config)));
  if (flags.json)
    report.json();
  else if (!to_file)
    report.text();
  return kDone;
}

}  // namespace

Action add_look(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<LookFlags>();
  add_model_flags(verb, flags->model);
  add_value(verb, "--prompt", flags->prompt, "TEXT", "The text; - reads it from the standard input");
  add_value(verb, "--text", flags->text, "FILE",
            "A file instead of --prompt: as many of its first tokens as the\ncontext length");
  add_value(verb, "--points", flags->points, "PATTERN",
            "Print the values of these points too; * is any text");
  verb.add_flag("--list", flags->list, "Print the names of the model's points and exit");
  verb.add_flag("--heads", flags->heads,
                "Measure each head too: where it attends, and the losses without it");
  add_value(verb, "--ablate", flags->ablate, "PATTERN", "Replace the values of these points by zeros");
  add_value(verb, "--scale", flags->scale, "POINT=F", "Multiply the values of these points by a number");
  add_value(verb, "--patch", flags->patch, "PATTERN",
            "Replace the values of these points by those for the\nprompt of --from");
  add_value(verb, "--from", flags->from, "TEXT", "A prompt of as many tokens, for --patch");
  add_value(verb, "--position", flags->position, "N", "Change this position only, counted from 0");
  verb.add_flag("--json", flags->json, "Print one JSON object");
  add_value(verb, "--tensors", flags->tensors, "FILE", "Write the numbers to this safetensors file");
  add_value(
      verb, "--html", flags->html, "FILE",
      "Write a page to this file: the text coloured by loss, the\nattention and the effect of each head");
  set_usual_flags(verb, {"--adapter", "--prompt", "--text", "--points", "--list", "--heads", "--ablate",
                         "--patch", "--from", "--json", "--html"});
  verb.footer(with_program(
      R"(Prints the loss of each token, the next token as each part of the residual stream predicts
it (logit lens), and the shares of heads and MLPs in its logit (direct logit attribution).
Points have the names of modules (--list). The names of GPT-2's modules work for every model:
h.2.attn.pattern is the attention of block 2, h.2.attn.head.1 the output of its head 1.

Examples:
  $ look out/kjv-mini --prompt "In the beginning"
  $ look out/kjv-mini --text psalms.txt --html psalms.html
  $ look out/kjv-mini --prompt "In the beginning" --points "h.*.attn.pattern" --json
  $ look out/kjv-mini --prompt "And he said" --ablate h.2.attn.head.1
  $ look out/kjv-mini --prompt "And he said" --from "And I said." --patch "h.1.resid_mid")",
      program));
  return {[flags] { return run(*flags); }};
}

}  // namespace gradus::cli

// gradus eval: measures how well a model predicts a text.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <optional>

#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/setting_flags.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/cli/sample/model_flags.hpp"
#include "gradus/cli/sample/prompt_input.hpp"
#include "gradus/cli/sample/token_table.hpp"
#include "gradus/data/chat.hpp"
#include "gradus/data/text.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/train/text_scores.hpp"

namespace gradus::cli {
namespace {

/// Rounding to float32 changes a sum of probabilities by less.
constexpr double kMostDeviation = 1e-3;

struct EvalFlags {
  ModelFlags model;
  std::vector<std::string> others;  ///< folders of the other models of an ensemble
  std::vector<std::string> text;
  std::optional<std::string> prompt;  ///< a text on the command line
  bool tokens = false;                ///< print each token
  bool adapt = false;                 ///< learn from the text after predicting it
  TokenTable table;
  std::string per_example;  ///< a file to write
  std::string chat_format;
  int64_t threads = 0, stride = 0;
};

/// The sequences of the sources: one text, or examples.
data::Examples sequences_of(const EvalFlags& flags, const std::vector<data::Source>& sources,
                            const data::Tokenizer& tokenizer) {
  const bool has_examples = !flags.prompt && data::are_examples(sources);
  if (!flags.per_example.empty())
    files::check_replaceable("eval", "--per-example", flags.per_example, [](std::string_view text) {
      return (text.starts_with(R"({"line":)") || text.starts_with(R"({"file":)")) &&
             text.find(R"(,"tokens":)") < text.find(R"(,"loss":)");
    });
  for (const auto& [flag, value] : {std::pair<std::string, std::string>{"--per-example", flags.per_example},
                                    {flag_of("chat_format", nullptr), flags.chat_format}})
    if (!value.empty() && !has_examples)
      fail("eval", flag, " needs a --text of JSONL, got ",
           flags.prompt ? "--prompt" : files::plain(flags.text.front()), ".");
  if (has_examples && (flags.tokens || flags.adapt))
    fail("eval", flags.tokens ? "--tokens" : "--adapt", " needs a plain text, got JSONL, ",
         files::plain(flags.text.front()), ".");
  data::Examples result;
  std::string note;
  if (has_examples) {
    result = data::read_examples(data::read_records(sources, data::TextRules::of(tokenizer)), tokenizer,
                                 {.chat_format = chat_format_of(flags.chat_format, flags.model.folder)});
    note = result.note();
  } else {
    data::Text text;
    if (flags.prompt)
      text.text = read_prompt(*flags.prompt, tokenizer);
    else
      text = data::make_text(sources, data::TextRules::of(tokenizer));
    note = text.note();
    result = {.examples = {data::sequence_of(text.text, tokenizer)}, .lines = {1}, .sources = {0}};
    const size_t count = result.examples[0].tokens.size();
    if (count < (flags.tokens ? 1 : 2))
      fail("eval", flags.prompt ? "--prompt" : "--text", " must have at least ",
           flags.tokens ? "one token" : "2 tokens, to predict one from another", ", got ", count, ".");
  }
  if (!note.empty()) Messages(flags.table.json).line("note: " + note);
  return result;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// A line of JSON for each example: its file (of several), its line, and the number and the mean loss of the
/// tokens that count.
void write_examples(const std::string& path, const std::vector<data::Source>& sources,
                    const data::Examples& sequences, const std::vector<double>& losses) {
  auto next = losses.begin();
  files::write_atomically(path, [&](std::ostream& out) {
    for (size_t i = 0; i < sequences.examples.size(); ++i) {
      const std::vector<bool>& counts = sequences.examples[i].counts;
      const auto tokens = std::count(counts.begin() + 1, counts.end(), true);
      const double mean = std::accumulate(next, next + tokens, 0.0) / static_cast<double>(tokens);
      next += tokens;
      nlohmann::ordered_json line;
      if (sources.size() > 1) line["file"] = sources[sequences.sources[i]].place();
      line.update({{"line", sequences.lines[i]}, {"tokens", tokens}, {"loss", mean}});
      out << json_line(line) << "\n";
    }
  });
}

int eval(const EvalFlags& flags, bool stride_given) {
  if (flags.text.empty() && !flags.prompt)
    fail("eval", "there must be --text FILE or --prompt TEXT, got none.");
  if (flags.adapt && flags.model.weights != "float32")
    fail("eval", "--adapt needs --weights float32, got ", flags.model.weights, ".");
  if (flags.threads > 0) set_num_threads(static_cast<int>(flags.threads));

  std::vector<ModelFlags> members{flags.model};
  for (const std::string& folder : flags.others) {
    members.push_back(flags.model);
    members.back().folder = folder;
  }
  const data::Tokenizer tokenizer = train::load_tokenizer(flags.model.folder, flags.model.tokenizer);
  std::vector<models::DecoderConfig> configs;
  for (const ModelFlags& member : members) {
    configs.push_back(models::check_pretrained(member.folder));
    if (!(train::load_tokenizer(member.folder, member.tokenizer) == tokenizer))
      fail("eval", "the models must have one tokenizer, got another in ", member.folder, ".");
    if (stride_given && (flags.stride < 1 || flags.stride > configs.back().block_size))
      fail("eval", "--stride must be in [1, ", configs.back().block_size, "], the context of ", member.folder,
           ", got ", flags.stride, ".");
  }
  std::vector<data::Source> sources;
  if (!flags.prompt) sources = data::read_sources({flags.text.begin(), flags.text.end()});
  const data::Examples sequences = sequences_of(flags, sources, tokenizer);
  if (flags.tokens) {
    const data::Example& text = sequences.examples[0];
    print_tokens(load_model(flags.model, configs[0], std::ssize(text.tokens)), text, flags.table);
    return kDone;
  }
  std::vector<int32_t> predicted;  // the tokens that count
  int64_t longest = 0;
  for (const auto& [tokens, counts] : sequences.examples) {
    longest = std::max(longest, std::ssize(tokens));
    for (size_t t = 1; t < tokens.size(); ++t)
      if (counts[t]) predicted.push_back(tokens[t]);
  }

  std::vector<double> single;  // the mean of each model
  std::vector<train::TextScores> scores;
  for (size_t i = 0; i < members.size(); ++i) {
    const int64_t read = std::min(longest, configs[i].block_size) * train::evaluation_batch(configs[i]);
    models::MemoryEstimate need = models::generation_memory(configs[i], read, 0, read);
    if (flags.adapt) {
      need = models::training_memory(configs[i], 1);
      need.average = 2 * need.parameters;  // the first values, and the model itself
    }
    train::TrainedModel trained = load_model(members[i], configs[i], need);
    scores.push_back(train::scores_of(trained.model, sequences.examples,
                                      stride_given ? flags.stride : configs[i].block_size, flags.adapt));
    single.push_back(mean_of(scores.back().losses));
    if (!std::isfinite(single.back()))
      throw RunError("[eval] the loss of ", members[i].folder, " must be finite, got NaN or infinity.");
  }
  const train::TextScores joint = train::mixture_of(scores, /*learned=*/false);
  const double deviation = joint.largest_sum_deviation();
  if (!(deviation < kMostDeviation))
    throw RunError("[eval] the probabilities of all tokens must sum to 1, got a sum that is off by ",
                   deviation, ".");
  const double loss = mean_of(joint.losses);
  if (!flags.per_example.empty()) write_examples(flags.per_example, sources, sequences, joint.losses);
  const double bits = loss * static_cast<double>(predicted.size()) / std::numbers::ln2;
  const auto bytes = static_cast<double>(tokenizer.byte_count(predicted));
  if (flags.table.json) {
    nlohmann::ordered_json json{{"loss", loss},
                                {"perplexity", std::exp(loss)},
                                {"bits_per_byte", bits / bytes},
                                {"tokens", predicted.size()},
                                {"bytes", tokenizer.byte_count(predicted)},
                                {"largest_sum_deviation", deviation}};
    if (members.size() > 1) json["losses"] = single;
    std::cout << json_line(json) << std::endl;
  } else {
    for (size_t i = 0; members.size() > 1 && i < members.size(); ++i)
      std::cout << "loss           " << decimals(single[i], 4) << " nats a token, "
                << files::plain(members[i].folder) << "\n";
    std::cout << "loss           " << decimals(loss, 4) << " nats a token\n"
              << "perplexity     " << decimals(std::exp(loss), 4) << "\n"
              << "bits per byte  " << (bytes > 0 ? decimals(bits / bytes, 4) : "-") << "\n"
              << "probabilities  sum to 1 within " << std::setprecision(2) << deviation << "\n"
              << "tokens         " << grouped(static_cast<int64_t>(predicted.size())) << " predicted, "
              << decimals(bytes / static_cast<double>(predicted.size()), 3) << " bytes each" << std::endl;
  }
  return kDone;
}

}  // namespace

Action add_eval(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<EvalFlags>();
  add_model_flags(verb, flags->model);
  CLI::Option* const others =
      verb.add_option("others", flags->others,
                      "More models, for the mean of their probabilities (an ensemble)")
          ->type_name("DIR");
  CLI::Option* const text =
      add_value(verb, "--text", flags->text, "FILE",
                "Files, folders of .txt files, or - (the standard input), joined\nin order; or files of "
                "JSONL, whose answers count");
  add_value(verb, "--prompt", flags->prompt, "TEXT",
            "The text itself, instead of a file; - reads it from the standard\ninput")
      ->excludes(text);
  CLI::Option* const per_example = add_value(verb, "--per-example", flags->per_example, "FILE",
                                             "JSONL: write line, tokens and loss of each example");
  add_chat_format(verb, flags->chat_format);
  add_value(verb, "--threads", flags->threads, "N", "Threads [one per core]", kThreads);
  CLI::Option* const stride = add_value(verb, "--stride", flags->stride, "N",
                                        "Tokens that each context window predicts [the whole window]");
  CLI::Option* const adapt =
      verb.add_flag("--adapt", flags->adapt, "Learn from each context window after predicting it");
  CLI::Option* const tokens =
      verb.add_flag("--tokens", flags->tokens, "Print the probability of each token, and of the next")
          ->excludes(others, per_example, stride, adapt);
  add_value(verb, "--top", flags->table.top, "N", "With --tokens: the most likely tokens to print", kFrom1)
      ->needs(tokens);
  verb.add_flag("--all", flags->table.all, "With --tokens: the most likely next tokens after each token")
      ->needs(tokens);
  verb.add_flag("--json", flags->table.json, "Print one JSON object");
  set_usual_flags(verb, {"--weights", "--text", "--prompt", "--per-example", "--stride", "--adapt",
                         "--tokens", "--top", "--all", "--json"});
  verb.footer(with_program(
      R"(Every token except the first is predicted once, from the tokens before it in its context
window. To compare models with different tokenizers, use bits per byte.

The loss is -1/n sum log p(token i | tokens from s(i) to i - 1), perplexity exp(loss). With
--stride N, windows begin N tokens apart, and each predicts its last N tokens (the first one all
of them), so that all tokens beyond the first window have at least the context length minus N
tokens before them. A smaller N gives a lower loss and takes longer.

With --adapt, the model makes a small step of learning (dynamic evaluation) after each window, from
the tokens that the window has predicted, as a compressor does. Its files do not change.

At every 16th token the probabilities of the whole vocabulary, in float64 from the logits that gave
the loss, are summed. A sum more than 0.001 away from 1 is an error.

Several models are evaluated one by one; p is the mean of their probabilities. They must have the
same tokenizer; their shapes may differ.

With --tokens, each line has the probability of a token given the tokens before it, its rank (1
is the most likely), its ID and its text; the most likely next tokens and the loss follow. Beyond
the context length, the model sees only the last tokens, as with --stride 1.

Examples:
  $ eval out/kjv-mini --text psalms.txt
  $ eval out/kjv-mini --text psalms.txt --stride 64 --json
  $ eval out/kjv-mini out/kjv-nano --text psalms.txt
  $ eval out/kjv-mini --text psalms.txt --adapt
  $ eval out/kjv-mini --tokens --prompt "In the beginning God"
  $ eval out/kjv-mini --tokens --prompt "And it came to pas" --all --top 3
  $ eval out/answers --text questions.jsonl --per-example losses.jsonl)",
      program));
  return {[=] { return eval(*flags, stride->count() > 0); }};
}

}  // namespace gradus::cli

// gradus eval: measures how well a model predicts a text.
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/data/text.hpp"
#include "gradus/files/error.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/cli/sample/model_flags.hpp"

namespace gradus::cli {
namespace {

struct EvalFlags {
  ModelFlags model;
  std::vector<std::string> text;
  int64_t threads = 0;
  bool json = false;
};

int eval(const EvalFlags& flags, bool threads_given) {
  if (threads_given && flags.threads < 1)
    fail("eval", "--threads must be a whole number of at least 1, got ", flags.threads, ".");
  if (threads_given) set_num_threads(static_cast<int>(flags.threads));

  const models::DecoderConfig config = check_model("eval", flags.model);
  const data::Text text =
      data::read_text({flags.text.begin(), flags.text.end()},
                      data::TextRules::of(train::load_tokenizer(flags.model.folder, flags.model.tokenizer)));
  if (const std::string note = text.note(); !note.empty()) Messages(flags.json).line("note: " + note);
  auto [model, tokenizer] = load_model(flags.model, config);
  const std::vector<int32_t> tokens = tokenizer.encode(text.text);
  const std::vector<data::Batch> batches =
      data::consecutive_batches(tokens, train::evaluation_batch(config), config.block_size);

  const double loss = train::mean_loss(model, batches);
  const std::span<const int32_t> predicted = std::span(tokens).subspan(1);
  const double bits = loss * static_cast<double>(predicted.size()) / std::numbers::ln2;
  const auto bytes = static_cast<double>(tokenizer.byte_count(predicted));
  if (flags.json) {
    const nlohmann::ordered_json json{{"loss", loss},
                                      {"perplexity", std::exp(loss)},
                                      {"bits_per_byte", bits / bytes},
                                      {"tokens", predicted.size()},
                                      {"bytes", tokenizer.byte_count(predicted)}};
    std::cout << json.dump() << std::endl;
  } else {
    std::cout << "loss           " << decimals(loss, 4) << " nats a token\n"
              << "perplexity     " << decimals(std::exp(loss), 4) << "\n"
              << "bits per byte  " << decimals(bits / bytes, 4) << "\n"
              << "tokens         " << grouped(static_cast<int64_t>(predicted.size())) << " predicted, "
              << decimals(bytes / static_cast<double>(predicted.size()), 3) << " bytes each" << std::endl;
  }
  return kDone;
}

}  // namespace

Action add_eval(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<EvalFlags>();
  add_model_flags(verb, flags->model);
  add_value(verb, "--text", flags->text, "FILE",
            "Files, folders of .txt files, or - (the standard input), joined\nin order")
      ->required();
  const CLI::Option* threads =
      add_value(verb, "--threads", flags->threads, "N", "Threads [one per core]", kMostThreads);
  verb.add_flag("--json", flags->json, "Print one JSON object");
  verb.footer(with_program(
      R"(Every token except the first is predicted once, from the tokens before it in its context
window. To compare models with different tokenizers, use bits per byte.

Examples:
  $ eval out/kjv-mini --text psalms.txt
  $ eval out/kjv-mini --text psalms.txt --json)",
      program));
  return {[flags, threads] { return eval(*flags, threads->count() > 0); }};
}

}  // namespace gradus::cli

// gradus predict: shows the probability of each token of a text, and of the next.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "gradus/data/text.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/cli/sample/model_flags.hpp"
#include "gradus/tools/cli/sample/prompt_input.hpp"

namespace gradus::cli {
namespace {

using models::RankedToken;

struct PredictFlags {
  ModelFlags model;
  std::string prompt;
  int64_t top = 10;
  bool all = false, json = false;
};

/// A position of the text, and the one after it.
struct Position {
  std::optional<int64_t> token;        ///< none after the text
  std::optional<RankedToken> rank;     ///< of the token; none for a prefix and for the first
  std::vector<RankedToken> likeliest;  ///< if requested
};

std::vector<Position> positions_of(const models::Decoder& model, const data::Example& text,
                                   const PredictFlags& flags) {
  const std::vector<int64_t> tokens(text.tokens.begin(), text.tokens.end());
  std::vector<Position> positions{{.token = tokens.front(), .rank = {}, .likeliest = {}}};
  models::NextToken next(model);
  for (size_t seen = 1; seen <= tokens.size(); ++seen) {
    const std::vector<double> p =
        models::next_token_probabilities(next.logits(std::span(tokens).first(seen)), {});
    Position& position = positions.emplace_back();
    if (seen < tokens.size()) {
      position.token = tokens[seen];
      if (text.counts[seen]) position.rank = models::ranked(p, tokens[seen]);
    }
    if (!position.token || flags.all) position.likeliest = models::likeliest(p, flags.top);
  }
  return positions;
}

int64_t predicted(const std::vector<Position>& positions) {
  return std::count_if(positions.begin(), positions.end(),
                       [](const Position& p) { return p.rank.has_value(); });
}

/// Nats per token of those that are predicted; none if there are none.
std::optional<double> loss_of(const std::vector<Position>& positions) {
  double sum = 0;
  for (const Position& position : positions)
    if (position.rank) sum -= std::log(position.rank->probability);
  const int64_t count = predicted(positions);
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

class Printer {
 public:
  explicit Printer(const data::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void text(const std::vector<Position>& positions) const {
    std::cout << "probability    rank      id  " << std::string(bar_ ? kBar + 2 : 0, ' ') << "token\n";
    for (const Position& position : positions) {
      if (!position.likeliest.empty()) std::cout << (position.token ? "\n" : "\nnext\n");
      if (position.rank)
        row(*position.rank, "");
      else if (position.token)
        row("-", "-", *position.token, "", "");
      for (const RankedToken& token : position.likeliest) row(token, position.token ? "  " : "");
    }
    if (const auto loss = loss_of(positions))
      std::cout << "\nloss         " << decimals(*loss, 4) << " nats a token on the " << predicted(positions)
                << " after the first\nperplexity   " << decimals(std::exp(*loss), 4) << "\n";
    std::cout << std::flush;
  }

  void json(const std::vector<Position>& positions) const {
    nlohmann::ordered_json tokens = nlohmann::ordered_json::array(), object;
    for (const Position& position : positions) {
      if (!position.token) continue;
      nlohmann::ordered_json token = position.rank ? of(*position.rank) : of({*position.token, 0, 0});
      if (!position.rank) token["probability"] = token["rank"] = nullptr;
      if (!position.likeliest.empty()) token["likeliest"] = of(position.likeliest);
      tokens.push_back(std::move(token));
    }
    const std::optional<double> loss = loss_of(positions);
    object["tokens"] = std::move(tokens);
    object["next"] = of(positions.back().likeliest);
    object["loss"] = loss ? nlohmann::ordered_json(*loss) : nullptr;
    object["perplexity"] = loss ? nlohmann::ordered_json(std::exp(*loss)) : nullptr;
    std::cout << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
  }

 private:
  static constexpr size_t kBar = 20;  // columns of probability 1

  std::string text_of(int64_t token) const {
    const auto one = static_cast<int32_t>(token);
    return tokenizer_.decode({&one, 1});
  }
  nlohmann::ordered_json of(const RankedToken& token) const {
    return {{"id", token.token},
            {"text", text_of(token.token)},
            {"probability", token.probability},
            {"rank", token.rank}};
  }
  nlohmann::ordered_json of(const std::vector<RankedToken>& tokens) const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const RankedToken& token : tokens) list.push_back(of(token));
    return list;
  }
  void row(const std::string& probability, const std::string& rank, int64_t token, const std::string& bar,
           const std::string& indent) const {
    std::cout << std::setw(11) << probability << std::setw(8) << rank << std::setw(8) << token << "  "
              << (bar_ ? bar + std::string(kBar + 2 - bar.size(), ' ') : "") << indent
              << files::in_quotes(text_of(token)) << "\n";
  }
  void row(const RankedToken& token, const std::string& indent) const {
    const auto full = static_cast<size_t>(std::lround(token.probability * static_cast<double>(kBar)));
    row(decimals(token.probability, 6), std::to_string(token.rank), token.token, std::string(full, '#'),
        indent);
  }

  const data::Tokenizer& tokenizer_;
  bool bar_ = standard_output().live;
};

int predict(PredictFlags flags) {
  const models::DecoderConfig config = check_model("predict", flags.model);
  const data::Tokenizer known = train::load_tokenizer(flags.model.folder, flags.model.tokenizer);
  const data::Example text = data::sequence_of(read_prompt(flags.prompt, known), known);
  if (text.tokens.empty()) fail("predict", "--prompt must have at least one token, got none.");
  const auto [model, tokenizer] = load_model(flags.model, config, std::ssize(text.tokens));

  const std::vector<Position> positions = positions_of(model, text, flags);
  const Printer print(tokenizer);
  flags.json ? print.json(positions) : print.text(positions);
  return kDone;
}

}  // namespace

Action add_predict(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<PredictFlags>();
  add_model_flags(verb, flags->model);
  add_value(verb, "--prompt", flags->prompt, "TEXT", "The text; - reads it from the standard input")
      ->required();
  add_value(verb, "--top", flags->top, "N", "Number of most likely tokens to print", kFrom1)
      ->capture_default_str();
  verb.add_flag("--all", flags->all, "Print the most likely next tokens after each token");
  verb.add_flag("--json", flags->json, "Print one JSON object");
  verb.footer(with_program(
      R"(Each line has the probability of a token given the tokens before it, its rank (1 is the most
likely), its ID and its text. The most likely next tokens and the loss follow. Beyond the
context length, the model sees only the last tokens, and each further token costs as much as
a whole context.

Examples:
  $ predict out/kjv-mini --prompt "In the beginning God"
  $ predict out/kjv-mini --prompt "And it came to pas" --all --top 3)",
      program));
  return {[flags] { return predict(*flags); }};
}

}  // namespace gradus::cli

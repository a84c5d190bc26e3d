// gradus predict: what a model makes of a text, token by token, and what it expects next.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/models/next_token.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/cli/program/whole_number.hpp"
#include "gradus/tools/cli/sample/prompt_input.hpp"
#include "gradus/tools/cli/sample/weights_flag.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/memory.hpp"

namespace gradus::cli {
namespace {

using models::RankedToken;

struct PredictFlags {
  std::string folder, tokenizer, prompt, weights = "float32";
  int64_t top = 10;
  bool all = false, json = false;
};

/// A place in the text: which token came, and what was expected there; behind the last, nothing came.
struct Place {
  std::optional<int64_t> came;
  std::optional<RankedToken> rank;     ///< of what came; not for the first, before which there is nothing
  std::vector<RankedToken> likeliest;  ///< where they are wanted
};

std::vector<Place> places_of(const models::Decoder& model, const std::vector<int32_t>& text,
                             const PredictFlags& flags) {
  const std::vector<int64_t> tokens(text.begin(), text.end());
  std::vector<Place> places{{.came = tokens.front(), .rank = {}, .likeliest = {}}};
  models::NextToken next(model);
  for (size_t seen = 1; seen <= tokens.size(); ++seen) {
    const bool is_last = seen == tokens.size();
    const std::vector<double> p =
        models::next_token_probabilities(next.logits(std::span(tokens).first(seen)), {});
    Place place;
    if (!is_last) place.came = tokens[seen];
    if (!is_last) place.rank = models::ranked(p, tokens[seen]);
    if (is_last || flags.all) place.likeliest = models::likeliest(p, flags.top);
    places.push_back(std::move(place));
  }
  return places;
}

/// Nats a token of all that came but the first; nothing if that is all.
std::optional<double> loss_of(const std::vector<Place>& places) {
  double sum = 0;
  int64_t count = 0;
  for (const Place& place : places) {
    if (!place.rank) continue;
    sum -= std::log(place.rank->probability);
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

class Printer {
 public:
  explicit Printer(const data::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void people(const std::vector<Place>& places) const {
    std::cout << "probability    rank      id  " << std::string(bar_ ? kBar + 2 : 0, ' ') << "token\n";
    for (const Place& place : places) {
      if (!place.likeliest.empty()) std::cout << (place.came ? "\n" : "\nnext\n");
      if (place.came && place.rank) row(*place.rank, "");
      if (place.came && !place.rank) row(*place.came);
      for (const RankedToken& token : place.likeliest) row(token, place.came ? "  " : "");
    }
    if (const auto loss = loss_of(places))
      std::cout << "\nloss         " << decimals(*loss, 4) << " nats a token on the " << places.size() - 2
                << " after the first\nperplexity   " << decimals(std::exp(*loss), 4) << "\n";
    std::cout << std::flush;
  }

  void json(const std::vector<Place>& places) const {
    nlohmann::ordered_json tokens = nlohmann::ordered_json::array(), object;
    for (const Place& place : places) {
      if (!place.came) continue;
      nlohmann::ordered_json token = place.rank ? of(*place.rank) : of({*place.came, 0, 0});
      if (!place.rank) token["probability"] = token["rank"] = nullptr;
      if (!place.likeliest.empty()) token["likeliest"] = of(place.likeliest);
      tokens.push_back(std::move(token));
    }
    const std::optional<double> loss = loss_of(places);
    object["tokens"] = std::move(tokens);
    object["next"] = of(places.back().likeliest);
    object["loss"] = loss ? nlohmann::ordered_json(*loss) : nullptr;
    object["perplexity"] = loss ? nlohmann::ordered_json(std::exp(*loss)) : nullptr;
    std::cout << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
  }

 private:
  static constexpr size_t kBar = 20;

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
    std::ostringstream line;
    line << std::setw(11) << probability << std::setw(8) << rank << std::setw(8) << token << "  ";
    if (bar_) line << std::left << std::setw(kBar + 2) << bar;
    std::cout << line.str() << indent << files::in_quotes(text_of(token)) << "\n";
  }
  void row(int64_t token) const { row("-", "-", token, "", ""); }
  void row(const RankedToken& token, const std::string& indent) const {
    const auto full = static_cast<size_t>(std::lround(token.probability * static_cast<double>(kBar)));
    row(decimals(token.probability, 6), std::to_string(token.rank), token.token, std::string(full, '#'),
        indent);
  }

  const data::Tokenizer& tokenizer_;
  bool bar_ = standard_output().live;
};

int predict(PredictFlags flags) {
  if (flags.top < 1) fail("predict", "--top must be a whole number of at least 1, got ", flags.top, ".");
  check_weights("predict", flags.weights);
  const models::DecoderConfig config = models::check_pretrained(flags.folder);
  const std::string prompt = read_prompt(flags.prompt, train::load_tokenizer(flags.folder, flags.tokenizer));
  if (prompt.empty()) fail("predict", "--prompt must have at least one token, got none.");
  train::check_memory(models::generation_memory(config), "free some, or use a smaller model.");
  auto [model, tokenizer] = train::load_trained(flags.folder, flags.tokenizer);
  keep_weights(model, flags.weights);

  const std::vector<Place> places = places_of(model, tokenizer.encode(prompt), flags);
  const Printer print(tokenizer);
  flags.json ? print.json(places) : print.people(places);
  return kDone;
}

}  // namespace

Action add_predict(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<PredictFlags>();
  verb.add_option("folder", flags->folder,
                  "Run folder, or any with config.json, model.safetensors, tokenizer")
      ->type_name("DIR")
      ->required()
      ->take_last();
  verb.add_option("--tokenizer", flags->tokenizer, "Another than the folder's: a folder or tokenizer.json")
      ->type_name("FROM")
      ->take_last();
  verb.add_option("--prompt", flags->prompt, "The text; - reads it from the standard input")
      ->type_name("TEXT")
      ->required()
      ->take_last();
  whole_number(verb, verb.add_option("--top", flags->top, "So many of the likeliest"))
      ->type_name("N")
      ->take_last()
      ->capture_default_str();
  verb.add_flag("--all", flags->all, "The likeliest at each place, not at the end only");
  add_weights_flag(verb, flags->weights);
  verb.add_flag("--json", flags->json, "One JSON object on the standard output");
  verb.footer(
      concat("A line a token: the probability that the model gave it from the tokens before it, how many\n"
             "were at least as likely (rank 1: it was the likeliest), its number and its text. Then the\n"
             "likeliest to come next, and the loss. Past the model's block it sees the last tokens of a\n"
             "block only, and each further token costs what a whole block does.\n\nExamples:\n  ",
             program, " predict out/kjv-mini --prompt \"In the beginning God\"\n  ", program,
             " predict out/kjv-mini --prompt \"And it came to pas\" --all --top 3"));
  return {[flags] { return predict(*flags); }};
}

}  // namespace gradus::cli

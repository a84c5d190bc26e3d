#include "gradus/cli/sample/token_table.hpp"

#include <cmath>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/generate.hpp"

namespace gradus::cli {
namespace {

using Json = nlohmann::ordered_json;

Json object_of(const data::Tokenizer& tokenizer, int64_t token) {
  const auto one = static_cast<int32_t>(token);
  return {{"id", token}, {"text", tokenizer.decode({&one, 1})}, {"probability", nullptr}, {"rank", nullptr}};
}

Json object_of(const data::Tokenizer& tokenizer, const models::RankedToken& ranked) {
  Json object = object_of(tokenizer, ranked.token);
  object["probability"] = ranked.probability;
  object["rank"] = ranked.rank;
  return object;
}

void print_row(const Json& token, const std::string& indent) {
  constexpr double kBar = 20;  // columns of probability 1
  const bool is_ranked = !token["rank"].is_null();
  const double p = is_ranked ? token["probability"].get<double>() : 0;
  std::cout << std::setw(11) << (is_ranked ? decimals(p, 6) : "-") << std::setw(8)
            << (is_ranked ? token["rank"].dump() : "-") << std::setw(8) << token["id"].get<int64_t>() << "  ";
  if (standard_output().live)
    std::cout << std::left << std::setw(22) << std::string(static_cast<size_t>(std::lround(p * kBar)), '#')
              << std::right;
  std::cout << indent << files::in_quotes(token["text"].get<std::string>()) << "\n";
}

void print_lines(const Json& rows) {
  std::cout << "probability    rank      id  " << std::string(standard_output().live ? 22 : 0, ' ')
            << "token\n";
  for (const Json& row : rows) {
    const bool is_token = row.contains("id");
    if (row.contains("likeliest")) std::cout << (is_token ? "\n" : "\nnext\n");
    if (is_token) print_row(row, "");
    for (const Json& token : row.value("likeliest", Json::array())) print_row(token, is_token ? "  " : "");
  }
}

}  // namespace

void print_tokens(const train::TrainedModel& trained, const data::Example& text, const TokenTable& how) {
  const std::vector<int64_t> tokens(text.tokens.begin(), text.tokens.end());
  models::NextToken next(trained.model);
  Json rows = Json::array();  // the last one is that after the text
  std::vector<double> losses;
  for (size_t seen = 0; seen <= tokens.size(); ++seen) {
    const bool is_token = seen < tokens.size();
    Json row = is_token ? object_of(trained.tokenizer, tokens[seen]) : Json::object();
    if (seen > 0) {
      const std::vector<double> p =
          models::next_token_probabilities(next.logits(std::span(tokens).first(seen)), {});
      if (is_token && text.counts[seen]) {
        row = object_of(trained.tokenizer, models::ranked(p, tokens[seen]));
        losses.push_back(-std::log(row["probability"].get<double>()));
      }
      if (!is_token || how.all)
        for (const models::RankedToken& one : models::likeliest(p, how.top))
          row["likeliest"].push_back(object_of(trained.tokenizer, one));
    }
    rows.push_back(std::move(row));
  }
  const double loss = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
  if (!how.json) {
    print_lines(rows);
    if (!losses.empty())
      std::cout << "\nloss         " << decimals(loss, 4) << " nats a token on the " << losses.size()
                << " after the first\nperplexity   " << decimals(std::exp(loss), 4) << "\n";
    std::cout << std::flush;
    return;
  }
  const Json after = rows.back()["likeliest"];
  rows.erase(rows.size() - 1);
  const bool has_loss = !losses.empty();
  const Json object{{"tokens", rows},
                    {"next", after},
                    {"loss", has_loss ? Json(loss) : Json()},
                    {"perplexity", has_loss ? Json(std::exp(loss)) : Json()}};
  std::cout << json_line(object) << std::endl;
}

}  // namespace gradus::cli

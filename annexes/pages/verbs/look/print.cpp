#include "gradus/annexes/pages/verbs/look/print.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "gradus/annexes/pages/look/page.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::cli {
namespace {

using Json = nlohmann::ordered_json;
using look::Head;
using look::mean_of;
using look::Prediction;

constexpr size_t kShares = 12;  // rows in the text

/// The measures of a head, with their names in JSON and arrays.
const std::vector<std::pair<const char*, double Head::*>> kMeasures = {{"distance", &Head::distance},
                                                                       {"entropy", &Head::entropy},
                                                                       {"previous_token", &Head::previous},
                                                                       {"first_token", &Head::first},
                                                                       {"induction", &Head::induction}};

/// Nested lists, as numbers of Python.
Json nested(const Tensor& x) {
  if (x.dim() == 0) return std::isfinite(x.item()) ? Json(x.item()) : Json(concat(x.item()));
  Json list = Json::array();
  for (int64_t i = 0; i < x.size(0); ++i) list.push_back(nested(x.select(0, i)));
  return list;
}

std::string decimals_or_dash(double value, int digits) {
  return std::isnan(value) ? "-" : decimals(value, digits);
}

}  // namespace

void LookReport::text() const {
  print_tokens();
  if (!look_.prediction.losses.empty()) {
    std::cout << "loss  " << decimals(mean_of(look_.prediction.losses), 4) << " nats a token";
    if (unchanged_)
      std::cout << "; " << decimals(mean_of(unchanged_->prediction.losses), 4) << " without the changes";
    std::cout << "\n\n";
  }
  std::vector<TableRow> rows{{"after", "loss", "p", "likeliest next"}};
  for (const Prediction& lens : look_.lens)
    rows.push_back({lens.name, decimals_or_dash(mean_of(lens.losses), 4),
                    decimals(lens.probabilities.back(), 3), quoted(lens.likeliest.back())});
  std::cout << "The next token, as each part of the residual stream predicts it (logit lens):\n"
            << table(rows, {1, 2});
  rows.clear();
  for (const look::Share& share : look_.shares)
    rows.push_back({share.name, decimals(share.logits.back(), 3)});
  std::ranges::stable_sort(rows, std::greater(),
                           [](const TableRow& row) { return std::abs(std::stod(row[1])); });
  rows.resize(std::min(rows.size(), kShares));
  std::cout << "The shares in its logit, the largest first (of " << decimals(look_.target_logits.back(), 3)
            << " for " << quoted(look_.targets.back()) << "):\n"
            << table(rows, {1}) << std::flush;
  if (!look_.heads.empty()) print_heads();
  for (const auto& [name, value] : look_.activations)
    std::cout << name << " " << value.shape() << "\n" << value << "\n\n";
}

void LookReport::json() const {
  const auto token_json = [this](int64_t token) { return Json{{"id", token}, {"text", text_of(token)}}; };
  const auto prediction_json = [&](const Prediction& prediction) {
    Json likeliest = Json::array();
    for (size_t t = 0; t < prediction.likeliest.size(); ++t) {
      likeliest.push_back(token_json(prediction.likeliest[t]));
      likeliest.back()["probability"] = prediction.probabilities[t];
    }
    return Json{{"name", prediction.name}, {"likeliest", likeliest}, {"losses", prediction.losses}};
  };

  Json object;
  for (const int64_t token : look_.tokens) object["tokens"].push_back(token_json(token));
  object["token_count"] = origin_.token_count;
  object["loss"] = mean_of(look_.prediction.losses);
  object["losses"] = look_.prediction.losses;
  object["next"] = prediction_json(look_.prediction)["likeliest"];
  for (int64_t t = 0; t < look_.top.size(0); ++t) {
    Json& top = object["top"].emplace_back();
    for (int64_t i = 0; i < look_.top.size(1); ++i) {
      top.push_back(token_json(static_cast<int64_t>(look_.top.at({t, i}))));
      top.back()["probability"] = look_.top_probabilities.at({t, i});
    }
  }
  if (unchanged_)
    object["unchanged"] = {{"loss", mean_of(unchanged_->prediction.losses)},
                           {"losses", unchanged_->prediction.losses}};
  for (const Prediction& lens : look_.lens) object["logit_lens"].push_back(prediction_json(lens));
  for (const int64_t token : look_.targets) object["attribution"]["targets"].push_back(token_json(token));
  object["attribution"]["logits"] = look_.target_logits;
  for (const look::Share& share : look_.shares)
    object["attribution"]["shares"].push_back({{"name", share.name}, {"logits", share.logits}});
  for (const Head& head : look_.heads) {
    Json& one =
        object["heads"].emplace_back(Json{{"name", head.name}, {"layer", head.layer}, {"head", head.head}});
    for (const auto& [name, measure] : kMeasures) one[name] = head.*measure;
    one["loss"] = mean_of(head.losses);
    one["losses"] = head.losses;
    for (int64_t t = 0; t < head.attention.size(0); ++t)
      one["attention"].push_back(nested(head.attention.select(0, t).slice(0, 0, t + 1)));
  }
  object["activations"] = Json::object();
  for (const auto& [name, value] : look_.activations) object["activations"][name] = nested(value);
  std::cout << json_line(object) << std::endl;
}

bool LookReport::is_tensors(std::string_view beginning) {
  constexpr size_t kLength = 8;  // bytes of the length of the header
  return beginning.size() > kLength &&
         beginning.substr(kLength).starts_with(R"({"__metadata__":{"gradus":"look"})");
}

void LookReport::tensors(const std::string& path) const {
  nn::StateDict arrays;
  const auto add = [&](const std::string& name, const auto& values) {
    arrays.emplace(name, tensor(values, {std::ssize(values)}));
  };
  add("tokens", look_.tokens);
  add("losses", look_.prediction.losses);
  arrays.emplace("top/tokens", look_.top);
  arrays.emplace("top/probabilities", look_.top_probabilities);
  if (unchanged_) add("unchanged.losses", unchanged_->prediction.losses);
  for (const Prediction& lens : look_.lens) {
    add(concat("logit_lens/", lens.name, "/likeliest"), lens.likeliest);
    add(concat("logit_lens/", lens.name, "/losses"), lens.losses);
  }
  add("attribution/targets", look_.targets);
  add("attribution/logits", look_.target_logits);
  for (const look::Share& share : look_.shares) add(concat("attribution/shares/", share.name), share.logits);
  for (const Head& head : look_.heads) {
    const std::string prefix = concat("heads/", head.name, "/");
    for (const auto& [name, measure] : kMeasures) add(prefix + name, std::vector{head.*measure});
    add(prefix + "losses", head.losses);
    arrays.emplace(prefix + "attention", head.attention);
  }
  for (const auto& [name, value] : look_.activations) arrays.emplace(name, value);
  nn::save_safetensors(path, arrays, {{"gradus", "look"}});
}

void LookReport::html(const std::string& path, const std::string& title, const std::string& model) const {
  const std::string page = pages::text_page({.title = title,
                                             .model = model,
                                             .file = std::filesystem::path(origin_.file).filename(),
                                             .token_count = origin_.token_count,
                                             .vocab_size = tokenizer_.vocab_size(),
                                             .look = look_,
                                             .text_of = [this](int64_t token) { return text_of(token); }});
  files::write_atomically(path, [&](std::ostream& out) { out << page; });
}

std::string LookReport::text_of(int64_t token) const {
  const auto one = static_cast<int32_t>(token);
  return tokenizer_.decode({&one, 1});
}

std::string LookReport::quoted(int64_t token) const { return files::in_quotes(text_of(token)); }

void LookReport::print_tokens() const {
  std::vector<TableRow> rows{{"position", "token", "loss", "unchanged", "difference", "p", "likeliest next"}};
  const auto& [losses, before] =
      std::pair(look_.prediction.losses, unchanged_.value_or(look_).prediction.losses);
  for (size_t t = 0; t < look_.tokens.size(); ++t) {
    rows.push_back({std::to_string(t), quoted(look_.tokens[t]), "-", "-", "-",
                    decimals(look_.prediction.probabilities[t], 3), quoted(look_.prediction.likeliest[t])});
    if (t == 0) continue;
    rows.back()[2] = decimals(losses[t - 1], 4);
    rows.back()[3] = decimals(before[t - 1], 4);
    rows.back()[4] = decimals(losses[t - 1] - before[t - 1], 4);
  }
  if (!unchanged_)
    for (TableRow& row : rows) row.erase(row.begin() + 3, row.begin() + 5);
  std::cout << table(rows, unchanged_ ? std::vector<size_t>{0, 2, 3, 4, 5} : std::vector<size_t>{0, 2, 3});
}

void LookReport::print_heads() const {
  const double loss = mean_of(look_.prediction.losses);
  std::vector<TableRow> rows{
      {"head", "loss without it", "difference", "distance", "entropy", "previous", "first", "induction"}};
  for (const Head& head : look_.heads) {
    rows.push_back({head.name, decimals_or_dash(mean_of(head.losses), 4),
                    decimals_or_dash(mean_of(head.losses) - loss, 4)});
    for (const auto& [name, measure] : kMeasures) rows.back().push_back(decimals_or_dash(head.*measure, 3));
  }
  std::cout << "The heads, and the loss without each:\n" << table(rows, {1, 2, 3, 4, 5, 6, 7}) << std::flush;
}

}  // namespace gradus::cli

// gradus look: shows what a model computes for a text, and what changes when a part of it is replaced.
#include "gradus/tools/look/look.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/watch.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/table.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/cli/sample/model_flags.hpp"
#include "gradus/tools/cli/sample/prompt_input.hpp"
#include "gradus/tools/export/export.hpp"

namespace gradus::cli {
namespace {

using Json = nlohmann::ordered_json;
using look::Look;
using look::Prediction;

struct LookFlags {
  ModelFlags model;
  std::string prompt, npz, from;
  std::vector<std::string> points, ablate, scale, patch;
  std::optional<int64_t> position;
  bool json = false, list = false;

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

class Report {
 public:
  Report(const data::Tokenizer& tokenizer, const Look& look, const std::optional<Look>& unchanged)
      : tokenizer_(tokenizer), look_(look), unchanged_(unchanged) {}

  void text() const {
    print_tokens();
    if (!look_.prediction.losses.empty()) {
      std::cout << "loss  " << decimals(look::mean_loss(look_.prediction), 4) << " nats a token";
      if (unchanged_)
        std::cout << "; " << decimals(look::mean_loss(unchanged_->prediction), 4) << " without the changes";
      std::cout << "\n\n";
    }
    std::vector<TableRow> rows{{"after", "loss", "p", "likeliest next"}};
    for (const Prediction& lens : look_.lens)
      rows.push_back({lens.name, lens.losses.empty() ? "-" : decimals(look::mean_loss(lens), 4),
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
    for (const auto& [name, value] : look_.activations)
      std::cout << name << " " << value.shape() << "\n" << value << "\n\n";
  }

  void json() const {
    Json object;
    for (const int64_t token : look_.tokens) object["tokens"].push_back(of(token));
    object["loss"] = look::mean_loss(look_.prediction);
    object["losses"] = look_.prediction.losses;
    object["next"] = of(look_.prediction)["likeliest"];
    if (unchanged_)
      object["unchanged"] = {{"loss", look::mean_loss(unchanged_->prediction)},
                             {"losses", unchanged_->prediction.losses}};
    for (const Prediction& lens : look_.lens) object["logit_lens"].push_back(of(lens));
    for (const int64_t token : look_.targets) object["attribution"]["targets"].push_back(of(token));
    object["attribution"]["logits"] = look_.target_logits;
    for (const look::Share& share : look_.shares)
      object["attribution"]["shares"].push_back({{"name", share.name}, {"logits", share.logits}});
    object["activations"] = Json::object();
    for (const auto& [name, value] : look_.activations) object["activations"][name] = of(value);
    std::cout << object.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }

  void npz(const std::string& path) const {
    exports::Arrays arrays;
    const auto add = [&](const std::string& name, const auto& values) {
      arrays.emplace_back(name, tensor(values, {static_cast<int64_t>(values.size())}));
    };
    add("tokens", look_.tokens);
    add("losses", look_.prediction.losses);
    if (unchanged_) add("unchanged.losses", unchanged_->prediction.losses);
    for (const Prediction& lens : look_.lens) {
      add(concat("logit_lens/", lens.name, "/likeliest"), lens.likeliest);
      add(concat("logit_lens/", lens.name, "/losses"), lens.losses);
    }
    add("attribution/targets", look_.targets);
    add("attribution/logits", look_.target_logits);
    for (const look::Share& share : look_.shares)
      add(concat("attribution/shares/", share.name), share.logits);
    for (const auto& [name, value] : look_.activations) arrays.emplace_back(name, value);
    exports::write_npz(arrays, path);
  }

 private:
  static constexpr size_t kShares = 12;  // rows in the text

  std::string text_of(int64_t token) const {
    const auto one = static_cast<int32_t>(token);
    return tokenizer_.decode({&one, 1});
  }
  std::string quoted(int64_t token) const { return files::in_quotes(text_of(token)); }
  Json of(int64_t token) const { return {{"id", token}, {"text", text_of(token)}}; }
  Json of(const Prediction& prediction) const {
    Json likeliest = Json::array();
    for (size_t t = 0; t < prediction.likeliest.size(); ++t) {
      likeliest.push_back(of(prediction.likeliest[t]));
      likeliest.back()["probability"] = prediction.probabilities[t];
    }
    return {{"name", prediction.name}, {"likeliest", likeliest}, {"losses", prediction.losses}};
  }
  /// Nested lists, as numbers of Python.
  static Json of(const Tensor& x) {
    if (x.dim() == 0) return std::isfinite(x.item()) ? Json(x.item()) : Json(concat(x.item()));
    Json list = Json::array();
    for (int64_t i = 0; i < x.size(0); ++i) list.push_back(of(x.select(0, i)));
    return list;
  }

  void print_tokens() const {
    std::vector<TableRow> rows{
        {"position", "token", "loss", "unchanged", "difference", "p", "likeliest next"}};
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

  const data::Tokenizer& tokenizer_;
  const Look& look_;
  const std::optional<Look>& unchanged_;
};

std::vector<int64_t> tokens_of(const char* flag, const std::string& text, const data::Tokenizer& tokenizer,
                               const models::DecoderConfig& config) {
  const std::vector<int32_t> tokens = tokenizer.encode(text);
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
  if (flags.prompt.empty() && !flags.list) fail("look", "--prompt must have at least one token, got none.");
}

int run(const LookFlags& flags) {
  check(flags);
  const models::DecoderConfig config = check_model("look", flags.model);
  check_single("look", config, flags.model.folder);
  auto [model, tokenizer] = load_model(flags.model, config);
  if (flags.list) {
    for (const std::string& point : look::points_of(model)) std::cout << point << "\n";
    return kDone;
  }
  const std::vector<int64_t> tokens =
      tokens_of("--prompt", read_prompt(flags.prompt, tokenizer), tokenizer, config);
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
  const Look look = look::look_at(model, tokens, points);

  const Report report(tokenizer, look, unchanged);
  if (!flags.npz.empty()) report.npz(flags.npz);
  if (flags.json)
    report.json();
  else if (flags.npz.empty())
    report.text();
  return kDone;
}

}  // namespace

Action add_look(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<LookFlags>();
  add_model_flags(verb, flags->model);
  add_value(verb, "--prompt", flags->prompt, "TEXT", "The text; - reads it from the standard input");
  add_value(verb, "--points", flags->points, "PATTERN",
            "Print the values of these points too; * is any text");
  verb.add_flag("--list", flags->list, "Print the names of the model's points and exit");
  add_value(verb, "--ablate", flags->ablate, "PATTERN", "Replace the values of these points by zeros");
  add_value(verb, "--scale", flags->scale, "POINT=F", "Multiply the values of these points by a number");
  add_value(verb, "--patch", flags->patch, "PATTERN",
            "Replace the values of these points by those for the\nprompt of --from");
  add_value(verb, "--from", flags->from, "TEXT", "A prompt of as many tokens, for --patch");
  add_value(verb, "--position", flags->position, "N", "Change this position only, counted from 0");
  verb.add_flag("--json", flags->json, "Print one JSON object");
  add_value(verb, "--npz", flags->npz, "FILE", "Write arrays for NumPy to this file");
  verb.footer(with_program(
      R"(Prints the loss of each token, the next token as each part of the residual stream predicts
it (logit lens), and the shares of heads and MLPs in its logit (direct logit attribution).
Points have the names of modules (--list). The names of GPT-2's modules work for every model:
h.2.attn.pattern is the attention of block 2, h.2.attn.head.1 the output of its head 1.

Examples:
  $ look out/kjv-mini --prompt "In the beginning"
  $ look out/kjv-mini --prompt "In the beginning" --points "h.*.attn.pattern" --json
  $ look out/kjv-mini --prompt "And he said" --ablate h.2.attn.head.1
  $ look out/kjv-mini --prompt "And he said" --from "And I said." --patch "h.1.resid_mid")",
      program));
  return {[flags] { return run(*flags); }};
}

}  // namespace gradus::cli

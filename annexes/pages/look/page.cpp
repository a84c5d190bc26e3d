#include "gradus/annexes/pages/look/page.hpp"

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "gradus/annexes/pages/frame.hpp"

namespace gradus::pages {
namespace {

using TextJson = nlohmann::ordered_json;

constexpr int64_t kTextBytes = 1'900'000;  // of the data: the page is smaller than 2 MB

double to_seven_decimals(double x) { return std::round(x * 1e7) / 1e7; }
TextJson to_seven_decimals(std::vector<double> values) {
  for (double& x : values) x = to_seven_decimals(x);
  return values;
}

/// Appends the low `size` bytes, the lowest first.
void append_bytes(std::string& bytes, uint32_t value, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
}

/// How many of the first tokens have their attention in the page, if the other data have `used` bytes.
int64_t shown_tokens(const look::Look& look, int64_t used) {
  const int64_t T = std::ssize(look.tokens), heads = std::ssize(look.heads);
  const int64_t left = (kTextBytes - used) / 4 * 3 - heads * 4 * (T - 1);  // before base64
  int64_t n = 1;
  while (n < T && heads * (n + 1) * (n + 2) <= left) ++n;  // (n + 1)(n + 2) / 2 weights of 2 bytes
  return n;
}

TextJson heads_json(const look::Look& look, int64_t shown) {
  const double loss = look::mean_of(look.prediction.losses);
  TextJson heads = TextJson::array();
  for (const look::Head& head : look.heads) {
    std::string weights, changes;
    for (int64_t t = 0; t < shown; ++t)
      for (int64_t s = 0; s <= t; ++s)
        append_bytes(weights, static_cast<uint32_t>(std::lround(head.attention.at({t, s}) * 65535)), 2);
    for (size_t t = 0; t < head.losses.size(); ++t)
      append_bytes(changes,
                   std::bit_cast<uint32_t>(static_cast<float>(head.losses[t] - look.prediction.losses[t])),
                   4);
    heads.push_back({{"name", head.name},
                     {"layer", head.layer},
                     {"head", head.head},
                     {"distance", to_seven_decimals(head.distance)},
                     {"entropy", to_seven_decimals(head.entropy)},
                     {"previous", to_seven_decimals(head.previous)},
                     {"first", to_seven_decimals(head.first)},
                     {"induction", to_seven_decimals(head.induction)},
                     {"change", to_seven_decimals(look::mean_of(head.losses) - loss)},
                     {"attention", base64(weights)},
                     {"changes", base64(changes)}});
  }
  return heads;
}

}  // namespace

std::string text_page(const TextPage& page) {
  const look::Look& look = page.look;
  std::set<int64_t> named(look.tokens.begin(), look.tokens.end());
  TextJson top = TextJson::array(), lens = TextJson::array();
  for (int64_t t = 0; t < look.top.size(0); ++t) {
    TextJson tokens = TextJson::array(), probabilities = TextJson::array();
    for (int64_t i = 0; i < look.top.size(1); ++i) {
      tokens.push_back(static_cast<int64_t>(look.top.at({t, i})));
      named.insert(tokens.back().get<int64_t>());
      probabilities.push_back(to_seven_decimals(look.top_probabilities.at({t, i})));
    }
    top.push_back({{"tokens", tokens}, {"probabilities", probabilities}});
  }
  for (const look::Prediction& one : look.lens) {
    named.insert(one.likeliest.begin(), one.likeliest.end());
    lens.push_back({{"name", one.name},
                    {"likeliest", one.likeliest},
                    {"probabilities", to_seven_decimals(one.probabilities)},
                    {"losses", to_seven_decimals(one.losses)}});
  }
  TextJson texts = TextJson::object();
  for (const int64_t token : named) texts[std::to_string(token)] = page.text_of(token);

  TextJson data{{"title", page.title},
                {"model", page.model},
                {"file", page.file},
                {"token_count", page.token_count},
                {"vocab_size", page.vocab_size},
                {"texts", texts},
                {"tokens", look.tokens},
                {"losses", to_seven_decimals(look.prediction.losses)},
                {"top", top},
                {"lens", lens}};
  const auto dumped = [&data] { return data.dump(-1, ' ', false, TextJson::error_handler_t::replace); };
  data["shown"] = shown_tokens(look, std::ssize(dumped()));
  data["heads"] = heads_json(look, data["shown"]);
  return html(
      {.verb = "look", .title = page.title, .data = dumped(), .scripts = {embedded_file("look/look.js")}});
}

}  // namespace gradus::pages

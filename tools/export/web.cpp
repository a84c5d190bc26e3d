#include "gradus/tools/export/web.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gradus/files/folder.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/config_json.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/tools/embedded.hpp"
#include "gradus/tools/export/gguf_numbers.hpp"

namespace gradus::exports {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBytesOfFile = 24 << 20;  // of numbers; whole groups of 3, that only the last needs filling

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < group.size() ? static_cast<unsigned char>(group[j]) : 0U);
    for (size_t j = 0; j < 4; ++j) text += j <= group.size() ? kDigits[bits >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

/// What stands in HTML as text.
std::string escaped_html(std::string_view text) {
  std::string html;
  for (const char c : text) html += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return html;
}

/// The page, with each {{x}} replaced: the title, or the file of that name.
std::string page(const std::string& title) {
  const std::string_view around = tools::embedded_file("export/web/index.html");
  std::string text;
  for (size_t at = 0;;) {
    const size_t open = around.find("{{", at), close = around.find("}}", open);
    text += around.substr(at, open - at);
    if (open == around.npos) return text;
    const std::string what(around.substr(open + 2, close - open - 2));
    text += what == "title" ? escaped_html(title) : std::string(tools::embedded_file("export/web/" + what));
    at = close + 2;
  }
}

/// What tokenizer.js takes.
Json tokenizer_json(const data::Tokenizer& tokenizer) {
  Json json = {{"kind", tokenizer.kind()}};
  if (tokenizer.kind() == "byte") return json;
  const Json vocab = Json::parse(tokenizer.to_json());
  if (tokenizer.kind() == "char") {
    json["characters"] = vocab.at("characters");
    return json;
  }
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  for (const auto& [token, number] : vocab.items()) tokens[number.get<size_t>()] = token;
  Json merges = Json::array();
  const std::string lines = tokenizer.to_merges();
  for (size_t at = lines.find('\n') + 1; at < lines.size();) {
    const size_t end = lines.find('\n', at);
    merges.push_back(lines.substr(at, end - at));
    at = end + 1;
  }
  json["tokens"] = tokens;
  json["merges"] = std::move(merges);
  json["specials"] = Json::array();
  for (const int32_t special : tokenizer.special_tokens())
    json["specials"].push_back(tokens[static_cast<size_t>(special)]);
  return json;
}

/// What a reader may begin with: the first of some that the vocabulary can spell.
std::string example_prompt(const data::Tokenizer& tokenizer) {
  for (const std::string prompt : {"The ", "I ", "A "})
    if (std::all_of(prompt.begin(), prompt.end(),
                    [&](char c) { return tokenizer.has(static_cast<char32_t>(c)); }))
      return prompt;
  return "";
}

Json described_model(const train::TrainedModel& trained, const std::string& name,
                     const nn::StateDict& weights) {
  const models::DecoderConfig& config = trained.model.config();
  Json tensors = Json::array();
  for (const auto& [called, tensor] : weights)
    tensors.push_back(
        {{"name", called}, {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())}});
  return {
      {"name", name},
      {"about", concat(models::architecture(config.arch).title(config), "’s shape, ", models::sizes(config))},
      {"prompt", example_prompt(trained.tokenizer)},
      {"config", Json::parse(models::to_json(config))},
      {"tokenizer", tokenizer_json(trained.tokenizer)},
      {"tensors", std::move(tensors)}};
}

/// Numbers, cut into the files that hold them.
class WeightFiles {
 public:
  explicit WeightFiles(files::FolderUpdate& update) : update_(&update) {}

  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t count = std::min(bytes.size(), kBytesOfFile - waiting_.size());
      waiting_ += bytes.substr(0, count);
      bytes.remove_prefix(count);
      if (waiting_.size() == kBytesOfFile) finish();
    }
  }
  void finish() {
    if (waiting_.empty()) return;
    update_->write(name(count_++), concat("page.weights(\"", base64(waiting_), "\");\n"));
    waiting_.clear();
  }
  /// Removes what a larger model has left in the folder.
  void remove_others(const std::filesystem::path& folder) const {
    for (int i = count_; std::filesystem::remove(folder / name(i)); ++i) continue;
  }

 private:
  static std::string name(int i) { return concat("weights-", i, ".js"); }

  files::FolderUpdate* update_;
  std::string waiting_;
  int count_ = 0;
};

}  // namespace

void write_web(const train::TrainedModel& trained, const std::string& name,
               const std::filesystem::path& folder) {
  const nn::StateDict weights = models::linear_weights(trained.model);
  const std::string json =
      described_model(trained, name, weights).dump(-1, ' ', false, Json::error_handler_t::replace);
  files::FolderUpdate update(folder);
  update.write("model-data.js",
               concat("page.describe(", json, ");\n"));  // tells what the folder is, so first
  WeightFiles files(update);
  for (const auto& [called, tensor] : weights) {
    const std::span<const float> numbers = numbers_of(tensor);
    files.add({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  }
  files.finish();
  update.write("index.html", page(name));
  update.commit_without_list();
  files.remove_others(folder);
}

}  // namespace gradus::exports

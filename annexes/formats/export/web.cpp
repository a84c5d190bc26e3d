#include "gradus/annexes/formats/export/export.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gradus/annexes/formats/export/encodings.hpp"
#include "gradus/annexes/pages/frame.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/stored/config_json.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/models/stored/stored_form.hpp"

namespace gradus::exports {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBytesOfFile = 24 << 20;  // a multiple of 3, so that only the last file has padding

/// The page, with each {{x}} replaced: the title, or the embedded file.
std::string page(const std::string& title) {
  return pages::filled(embedded_file("export/web/index.html"), [&](std::string_view what) {
    if (what == "title") return pages::escaped_html(title);
    return std::string(what == "style.css" ? pages::embedded_file(what) : embedded_file(what));
  });
}

/// The input of tokenizer.js.
Json tokenizer_json(const data::Tokenizer& tokenizer) {
  if (!tokenizer.stop_strings().empty())
    fail("export", "web needs a generation_config.json without stop_strings, got ",
         tokenizer.stop_strings().size(), ".");
  Json json = {{"kind", tokenizer.kind()},
               {"prefix", tokenizer.prefix()},
               {"ends", tokenizer.eos()},
               {"specials", Json::array()}};
  const std::vector<std::string> tokens = tokenizer.vocabulary();
  for (const int32_t special : tokenizer.special_tokens())
    json["specials"].push_back(tokens[static_cast<size_t>(special)]);
  if (tokenizer.kind() == "byte") return json;
  if (tokenizer.kind() == "char") {
    json["characters"] = Json::parse(tokenizer.to_json()).at("characters");
    return json;
  }
  if (!tokenizer.pairs().follows_gpt2())
    fail("export", "web needs a tokenizer with GPT-2's words, got a tokenizer.json with other rules. ",
         "Hint: gguf has them.");
  json["tokens"] = tokens;
  json["merges"] = merge_lines(tokenizer);
  return json;
}

/// The first prompt that the vocabulary can encode; empty if there is none.
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
      {"about", concat(models::stored_form(config.arch).title(config), "’s shape, ", models::sizes(config))},
      {"prompt", example_prompt(trained.tokenizer)},
      {"config", Json::parse(models::to_json(config))},
      {"tokenizer", tokenizer_json(trained.tokenizer)},
      {"tensors", std::move(tensors)}};
}

std::string weights_file(int i) { return concat("weights-", i, ".js"); }

/// Writes the numbers into files of kBytesOfFile. Returns how many files.
int write_weights(const nn::StateDict& weights, files::FolderUpdate& update) {
  int count = 0;
  std::string waiting;
  const auto finish = [&] {
    if (waiting.empty()) return;
    update.write(weights_file(count++), concat("page.weights(\"", pages::base64(waiting), "\");\n"));
    waiting.clear();
  };
  for (const auto& [name, tensor] : weights) {
    const std::span<const float> numbers = numbers_of(tensor);
    std::string_view bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
    while (!bytes.empty()) {
      const size_t size = std::min(bytes.size(), kBytesOfFile - waiting.size());
      waiting += bytes.substr(0, size);
      bytes.remove_prefix(size);
      if (waiting.size() == kBytesOfFile) finish();
    }
  }
  finish();
  return count;
}

}  // namespace

void write_web(const train::TrainedModel& trained, const std::string& name,
               const std::filesystem::path& folder) {
  const nn::StateDict weights = models::linear_weights(trained.model);
  const std::string json =
      described_model(trained, name, weights).dump(-1, ' ', false, Json::error_handler_t::replace);
  files::FolderUpdate update(folder);
  update.write("model-data.js", concat("page.describe(", json, ");\n"));  // identifies the folder, so first
  int count = write_weights(weights, update);
  update.write("index.html", page(name));
  update.commit_without_list();
  while (std::filesystem::remove(folder / weights_file(count))) ++count;  // of an earlier, larger model
}

}  // namespace gradus::exports

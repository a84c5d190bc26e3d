// The files of a page: all in {{ }} is filled in, and the numbers come back. (.ci/clients runs its scripts.)
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "exported.hpp"
#include "gradus/annexes/formats/export/encodings.hpp"
#include "gradus/annexes/formats/export/export.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_web {

using nlohmann::json;

/// RFC 4648, section 4.
std::string decoded(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(digits.find(c));
    count += 6;
    if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return bytes;
}

/// What a script calls a function of the page with.
std::string argument(const std::string& script, const std::string& function) {
  const std::string before = "page." + function + "(";
  if (!script.starts_with(before) || !script.ends_with(");\n"))
    throw std::runtime_error(script.substr(0, 40));
  return script.substr(before.size(), script.size() - before.size() - 3);
}

TEST_CASE("a page has its scripts, its model and its numbers") {
  const data::Tokenizer tokenizer =
      GENERATE(data::Tokenizer::bytes(), testing::awkward_characters(), testing::small_pairs());
  const train::TrainedModel trained = testing::exported(testing::small_gpt2(tokenizer), tokenizer);
  const testing::TemporaryFolder folder;
  exports::write_web(trained, "a <b> & c", folder.path());

  const std::string page = files::read(folder / "index.html");
  CHECK_THAT(page, ContainsSubstring("<title>a &lt;b> &amp; c</title>") && !ContainsSubstring("{{"));
  for (const char* script :
       {"export/web/tokenizer.js", "export/web/model.js", "export/web/worker.js", "export/web/page.js"})
    CHECK_HAS(page, std::string(exports::embedded_file(script)));

  const json model = json::parse(argument(files::read(folder / "model-data.js"), "describe"));
  CHECK(model.at("name") == "a <b> & c");
  CHECK(model.at("config").at("model_type") == "gpt2");
  CHECK(model.at("tokenizer").at("kind") == tokenizer.kind());
  if (tokenizer.kind() == "char") CHECK(model.at("tokenizer").at("characters") == "\t\n \"'<\\a\x7Fé“語😀");
  if (tokenizer.kind() == "bpe") {
    CHECK(model.at("tokenizer").at("merges") == json({"a b", "ab c", "\xC4\xA0 a"}));
    CHECK(model.at("tokenizer").at("specials") == json({"<|endoftext|>"}));
    CHECK(model.at("tokenizer").at("tokens").at(259) == "<|endoftext|>");
  }

  const std::string text = argument(files::read(folder / "weights-0.js"), "weights");
  const std::string bytes = decoded(text.substr(1, text.size() - 2));
  const nn::StateDict weights = models::linear_weights(trained.model);
  size_t at = 0;
  REQUIRE(model.at("tensors").size() == weights.size());
  for (const json& entry : model.at("tensors")) {
    const Tensor& tensor = weights.at(entry.at("name").get<std::string>());
    const std::span<const float> numbers = exports::numbers_of(tensor);
    CHECK(entry.at("shape").get<std::vector<int64_t>>() ==
          std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end()));
    REQUIRE(at + numbers.size_bytes() <= bytes.size());
    CHECK(std::memcmp(bytes.data() + at, numbers.data(), numbers.size_bytes()) == 0);
    at += numbers.size_bytes();
  }
  CHECK(at == bytes.size());
  CHECK_FALSE(std::filesystem::exists(folder / "weights-1.js"));
}

TEST_CASE("numbers that fill more than a file go on in the next") {
  models::DecoderConfig config = testing::kSmallLlama;
  config.n_embd = 1024;
  config.n_inner = 1024;
  config.n_layer = 1;
  config.n_head = 4;
  const train::TrainedModel trained = testing::exported(config, data::Tokenizer::bytes());
  const testing::TemporaryFolder folder;
  exports::write_web(trained, "wide", folder.path());
  size_t bytes = 0, count = 0;
  for (const auto& [name, tensor] : models::linear_weights(trained.model))
    count += exports::numbers_of(tensor).size();
  for (int i = 0; i < 2; ++i) {
    const std::string text = argument(files::read(folder / concat("weights-", i, ".js")), "weights");
    if (i == 0) CHECK(text.size() == (24 << 20) / 3 * 4 + 2);
    bytes += (text.size() - 2) / 4 * 3 - static_cast<size_t>(std::count(text.end() - 4, text.end(), '='));
  }
  CHECK(bytes == 4 * count);
}

}  // namespace gradus::test_web

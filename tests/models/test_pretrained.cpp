#include "gradus/models/stored/pretrained.hpp"

#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/safetensors.hpp"
#include "models/llama.hpp"
#include "models/saved_model.hpp"

namespace gradus::models::test_pretrained {

using nlohmann::json;
using namespace testing;

/// No zeros that could stand for other zeros.
Decoder make_model(bool bias = true) {
  return wide_model({.vocab_size = 11,
                     .block_size = 8,
                     .n_layer = 2,
                     .n_head = 2,
                     .n_embd = 8,
                     .dropout = 0.25,
                     .bias = bias},
                    31);
}

TEST_CASE("a saved model comes back bit for bit, whatever its parts") {
  DecoderConfig plain = kSmallLlama;
  plain.n_kv_head = 0;
  const int kind = GENERATE(0, 1, 2, 3, 4);
  const Decoder model = kind < 2 ? make_model(kind == 0)
                                 : wide_model(kind == 2   ? kSmallLlama
                                              : kind == 3 ? small_qwen3()
                                                          : plain,
                                              31);
  const SavedModel saved(model);
  const Decoder loaded = load_pretrained(saved.folder.path());
  check_same(loaded, model);
  CHECK(loaded.training());
  for (const Tensor& p : loaded.parameters()) CHECK(p.requires_grad());
  CHECK(check_pretrained(saved.folder.path()) == model.config());  // without reading its values
  const std::string bytes = files::read(saved.weights);
  save_pretrained(loaded, saved.folder.path());
  CHECK(files::read(saved.weights) == bytes);
  if (kind >= 2) CHECK(stored_shapes(model.config()) == model.config().parameter_shapes());
}

TEST_CASE("tensors have the names and shapes of transformers' files") {
  const auto check = [](const Decoder& model, size_t count, const std::map<std::string, Shape>& shapes) {
    const SavedModel saved(model);
    const nn::StateDict stored = nn::load_safetensors(saved.weights);
    CHECK(stored.size() == count);
    for (const auto& [name, shape] : shapes) CHECK(stored.at(name).shape() == shape);
    CHECK(nn::SafetensorsFile(saved.weights).header().metadata == nn::Metadata{{"format", "pt"}});
    return stored;
  };
  for (const bool bias : {true, false}) {
    const Decoder model = make_model(bias);
    const nn::StateDict stored = check(model, 2 + 2 * 12 + 2,
                                       {{"wte.weight", {11, 8}},
                                        {"h.1.attn.c_attn.weight", {8, 24}},
                                        {"h.0.mlp.c_fc.weight", {8, 32}},
                                        {"h.0.mlp.c_proj.weight", {32, 8}},
                                        {"ln_f.bias", {8}}});
    CHECK(difference(stored.at("h.0.attn.c_proj.weight").mT(),
                     model.state_dict().at("h.0.attn.c_proj.weight"), 0.0) == "");
    if (!bias) CHECK(amax(abs(stored.at("h.0.mlp.c_fc.bias"))).item() == 0.0);
  }
  check(wide_model(kSmallLlama, 32), 2 + 2 * 9,
        {{"model.embed_tokens.weight", {11, 16}},
         {"model.layers.1.self_attn.q_proj.weight", {16, 16}},
         {"model.layers.1.self_attn.k_proj.weight", {8, 16}},
         {"model.layers.0.mlp.gate_proj.weight", {64, 16}},
         {"model.layers.0.mlp.down_proj.weight", {16, 64}}});
  check(wide_model(small_qwen3(), 33), 3 + 2 * 11,
        {{"lm_head.weight", {11, 16}}, {"model.layers.0.self_attn.q_norm.weight", {4}}});
}

TEST_CASE("an equal tied head and old frequencies of llama are read over") {
  const Decoder model = wide_model(kSmallLlama, 35);
  const SavedModel saved(model);
  nn::StateDict stored = nn::load_safetensors(saved.weights);
  stored["lm_head.weight"] = model.state_dict().at("model.embed_tokens.weight");
  stored["model.layers.0.self_attn.rotary_emb.inv_freq"] = ones({2});
  nn::save_safetensors(saved.weights, stored);
  check_same(load_pretrained(saved.folder.path()), model);
}

TEST_CASE("biases in a model without are refused, and a file that is not there") {
  const SavedModel saved(make_model());
  saved.set("gradus_bias", false);
  CHECK_HAS(saved.refusal(), "bias must be 0 in a model without biases.");
  std::filesystem::remove(saved.weights);
  CHECK(saved.refusal() == "[safetensors] model.safetensors: cannot be read: No such file or directory.");
}

TEST_CASE("a config.json that is none is refused by its name") {
  const SavedModel saved(make_model());
  const json good = saved.read_config();
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), std::string("nonsense"),
                                  good.dump() + std::string("\0garbage", 8)}) {
    std::ofstream(saved.config) << text;
    CHECK_THAT(saved.refusal(), Catch::Matchers::StartsWith("[load_config] config.json must be "));
  }
  std::filesystem::remove(saved.config);
  CHECK(saved.refusal() == "[file] cannot read config.json: No such file or directory.");
}

TEST_CASE("a folder that cannot be made is a RunError") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "taken") << "x";
  CHECK_THROWS_AS(save_pretrained(make_model(), folder / "taken"), RunError);
}

TEST_CASE("no depth of a config overflows a stack") {
  const SavedModel saved(make_model());
  const std::string good = saved.read_config().dump();
  for (const size_t depth : {size_t{60}, size_t{100'000}}) {
    std::string changed = good;
    const std::string field = "\"n_layer\":2";
    REQUIRE(changed.find(field) != std::string::npos);
    changed.replace(changed.find(field), field.size(),
                    "\"n_layer\":" + std::string(depth, '[') + std::string(depth, ']'));
    std::ofstream(saved.config) << changed;
    CHECK_HAS(saved.refusal(), depth == 60
                                   ? "n_layer must be a whole number of 64 bits, got a list of 1."
                                   : "must have at most 64 lists and objects inside one another, got more.");
  }
}

TEST_CASE("a config that asks for more than the file holds is refused before there is such a model") {
  const SavedModel saved(make_model());
  saved.set("n_embd", 5000);
  saved.set("n_layer", 100);
  reset_peak_memory();
  const int64_t before = memory_use().bytes;
  CHECK_HAS(saved.refusal(), "missing: h.2.ln_1.weight, h.2.ln_1.bias, ",
            " more; misshaped: ", "wte.weight (11, 8) for (11, 5000), ");
  CHECK(memory_use().peak - before < static_cast<int64_t>(std::filesystem::file_size(saved.weights)));
}

}  // namespace gradus::models::test_pretrained

#include "gradus/models/pretrained.hpp"

#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/safetensors.hpp"
#include "models/saved_model.hpp"

namespace gradus::models::test_pretrained {

using nlohmann::json;
using namespace testing;

Decoder make_model(bool bias = true) {
  Generator g(31);
  Decoder model({.vocab_size = 11,
                 .block_size = 8,
                 .n_layer = 2,
                 .n_head = 2,
                 .n_embd = 8,
                 .dropout = 0.25,
                 .bias = bias},
                g);
  for (Tensor& p : model.parameters())
    p.copy_(randn(p.shape(), g));  // no zeros that could stand for other zeros
  return model;
}

TEST_CASE("a saved model comes back bit for bit, with and without biases") {
  const Decoder model = make_model(GENERATE(true, false));
  const Saved saved(model);
  const Decoder loaded = load_pretrained(saved.folder.path());
  check_same(loaded, model);
  CHECK(loaded.training());
  for (const Tensor& p : loaded.parameters()) CHECK(p.requires_grad());
  CHECK(load_config(saved.folder.path()) == model.config());

  const std::string bytes = files::read(saved.weights);
  save_pretrained(loaded, saved.folder.path());
  CHECK(files::read(saved.weights) == bytes);
}

TEST_CASE("the files are those of transformers' GPT-2") {
  const Decoder model = make_model(GENERATE(true, false));
  const Saved saved(model);
  const nn::StateDict stored = nn::load_safetensors(saved.weights);
  CHECK(stored.size() == 2 + 2 * 12 + 2);
  const auto shape = [&](const char* name) { return stored.at(name).shape(); };
  CHECK(shape("wte.weight") == Shape{11, 8});
  CHECK(shape("wpe.weight") == Shape{8, 8});
  CHECK(shape("h.1.attn.c_attn.weight") == Shape{8, 24});
  CHECK(shape("h.1.attn.c_attn.bias") == Shape{24});
  CHECK(shape("h.0.attn.c_proj.weight") == Shape{8, 8});
  CHECK(shape("h.0.attn.c_proj.bias") == Shape{8});
  CHECK(shape("h.0.mlp.c_fc.weight") == Shape{8, 32});
  CHECK(shape("h.0.mlp.c_fc.bias") == Shape{32});
  CHECK(shape("h.0.mlp.c_proj.weight") == Shape{32, 8});
  CHECK(shape("h.0.mlp.c_proj.bias") == Shape{8});
  CHECK(shape("h.0.ln_1.bias") == Shape{8});
  CHECK(shape("ln_f.bias") == Shape{8});
  CHECK(difference(stored.at("h.0.attn.c_proj.weight").mT(), model.state_dict().at("h.0.attn.c_proj.weight"),
                   0.0) == "");
  if (!model.config().bias) CHECK(amax(abs(stored.at("h.0.mlp.c_fc.bias"))).item() == 0.0);
  CHECK(nn::SafetensorsFile(saved.weights).header().metadata == nn::Metadata{{"format", "pt"}});

  json expected = json::parse(R"({
    "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 11, "n_positions": 8,
    "n_ctx": 8, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_inner": null,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "embd_pdrop": 0.25,
    "attn_pdrop": 0.25, "resid_pdrop": 0.25, "initializer_range": 0.02, "scale_attn_weights": true,
    "tie_word_embeddings": true, "bos_token_id": null, "eos_token_id": null, "torch_dtype": "float32"})");
  if (!model.config().bias) expected["gradus_bias"] = false;
  json config = saved.read_config();
  CHECK(config.at("gradus_version").get<std::string>().find('.') != std::string::npos);
  config.erase("gradus_version");  // which changes with each
  CHECK(config == expected);
}

TEST_CASE("prefixed names, stored masks and an equal head are accepted") {
  const Decoder model = make_model();
  const Saved saved(model);
  nn::StateDict stored;
  for (const auto& [name, values] : nn::load_safetensors(saved.weights))
    stored["transformer." + name] = values;
  stored["transformer.h.0.attn.bias"] = ones({1, 1, 8, 8}, DType::boolean);
  stored["transformer.h.1.attn.masked_bias"] = full({}, -1e4);
  stored["lm_head.weight"] = model.state_dict().at("wte.weight");
  nn::save_safetensors(saved.weights, stored);
  saved.set("activation_function", "gelu_pytorch_tanh");
  saved.set("n_inner", 32);
  check_same(load_pretrained(saved.folder.path()), model);
}

TEST_CASE("a config may say that nothing is quantized or pruned") {
  const Decoder model = make_model();
  const Saved saved(model);
  for (const char* field : {"quantization_config", "pruned_heads"})
    for (const json& none : {json(), json::object()}) {
      saved.set(field, none);
      check_same(load_pretrained(saved.folder.path()), model);
    }
}

TEST_CASE("what a config leaves out is what GPT-2 has") {
  const Decoder model = make_model();
  const Saved saved(model);
  json config = saved.read_config();
  for (const char* field : {"layer_norm_epsilon", "embd_pdrop", "attn_pdrop", "resid_pdrop", "n_inner"})
    config.erase(field);
  saved.write(config);
  const DecoderConfig loaded = load_config(saved.folder.path());
  CHECK(loaded.norm_eps == 1e-5);
  CHECK(loaded.dropout == 0.1);
  CHECK(loaded.bias);
  saved.set("layer_norm_epsilon", 0.25);
  CHECK(load_config(saved.folder.path()).norm_eps == 0.25);
}

TEST_CASE("weights that do not fit are refused: see test_bad_folders.cpp") {
  const Saved saved(make_model());
  SECTION("biases in a model without") {
    saved.set("gradus_bias", false);
    CHECK_HAS(saved.refusal(), "bias must be 0 in a model without biases.");
  }
  SECTION("a file cut short") {
    std::filesystem::resize_file(saved.weights, std::filesystem::file_size(saved.weights) - 1);
    CHECK_HAS(saved.refusal(), "[safetensors] model.safetensors: values must fill");
  }
  SECTION("no file") {
    std::filesystem::remove(saved.weights);
    CHECK(saved.refusal() == "[safetensors] model.safetensors: cannot be read: No such file or directory.");
  }
}

TEST_CASE("configs of other models are refused: see test_bad_folders.cpp") {
  const Saved saved(make_model());
  struct Case {
    const char* field;
    json value;
    const char* message;
  };
  const Case cases[] = {
      {"n_inner", 24, "n_inner must be null or 32, got 24."},
      {"n_head", 3, "[decoder] `n_head` must divide `n_embd`, got 3 and 8."},
      {"n_embd", 4611686018427387904, "[decoder] `n_embd` must be in [1, 1000000], got 4611686018427387904."},
      {"n_layer", 2.5, "n_layer must be a whole number of 64 bits, got 2.5."},
      {"n_layer", "2", "n_layer must be a whole number of 64 bits, got '2'."},
      {"resid_pdrop", "x", "resid_pdrop must be a number, got 'x'."},
      {"gradus_bias", 1, "gradus_bias must be true or false, got 1."},
  };
  for (const Case& c : cases) {
    const json before = saved.read_config();
    saved.set(c.field, c.value);
    CHECK(saved.refusal() == concat("[load_config] config.json: ", c.message));
    saved.write(before);
  }
  const json good = saved.read_config();
  saved.set("attn_pdrop", 0.5);
  CHECK(saved.refusal() ==
        "[load_config] config.json must have equal dropouts, got resid_pdrop 0.25 and attn_pdrop 0.5.");
  json lacking = good;
  lacking.erase("n_positions");
  lacking.erase("n_ctx");
  saved.write(lacking);
  CHECK(saved.refusal() == "[load_config] config.json must have a field 'n_positions'.");
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
  const Saved saved(make_model());
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
  const Saved saved(make_model());
  saved.set("n_embd", 5000);
  saved.set("n_layer", 100);
  reset_peak_memory();
  const int64_t before = memory_use().bytes;
  CHECK_HAS(saved.refusal(), "missing: h.2.ln_1.weight, h.2.ln_1.bias, ",
            " more; misshaped: ", "wte.weight (11, 8) for (11, 5000), ");
  CHECK(memory_use().peak - before < static_cast<int64_t>(std::filesystem::file_size(saved.weights)));
}

TEST_CASE("a folder is checked without reading its values") {
  const Decoder model = make_model();
  const Saved saved(model);
  CHECK(check_pretrained(saved.folder.path()) == model.config());
  saved.set("n_layer", 3);
  CHECK_HAS(testing::error_of([&] { check_pretrained(saved.folder.path()); }), "missing: h.2.ln_1.weight, ");
}

}  // namespace gradus::models::test_pretrained

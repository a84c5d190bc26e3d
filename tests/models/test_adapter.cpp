// Adapters in PEFT's files.
#include "gradus/models/stored/adapter.hpp"

#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/safetensors.hpp"
#include "temporary_folder.hpp"
#include "test_files.hpp"

namespace gradus::models::test_adapter {

using nlohmann::json;
using namespace testing;

DecoderConfig config_of(const std::string& arch) {
  DecoderConfig config{.vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 8};
  change_arch(config, arch);
  return config;
}

/// Gives the model adapters that change something.
void adapt(Decoder& model, const nn::LoRAOptions& options, Generator& g) {
  nn::add_lora(model, options, g);
  for (const auto& [name, layer] : nn::linear_layers(model))
    if (layer->lora) layer->lora->B.detach().copy_(randn(layer->lora->B.shape(), g));
}

/// A base model in a folder, and adapters of it in another one.
struct Adapted {
  testing::TemporaryFolder root;
  std::filesystem::path base = root / "base", folder = root / "adapter";
  Generator g{7};
  Decoder model;
  Tensor idx = tensor(std::vector<int64_t>{1, 4, 9, 2, 0, 10}, {2, 3});

  explicit Adapted(const std::string& arch, const nn::LoRAOptions& options = {.rank = 2, .on = {"*.*"}})
      : model(config_of(arch), g) {
    save_pretrained(model, base);
    adapt(model, options, g);
    save();
  }
  void save() {
    std::filesystem::create_directory(folder);
    files::FolderUpdate update(folder);
    save_adapter(model, base.string(), weights_checksum(base), update);
    update.commit_without_list();
  }
  files::FolderSnapshot snapshot() const { return {folder, {}}; }
  std::vector<double> scales() const {
    std::vector<double> all;
    Decoder loaded = load_with_adapter(base, snapshot(), model.config());
    for (const auto& [name, layer] : nn::linear_layers(loaded))
      if (layer->lora) all.push_back(layer->lora->scale);
    return all;
  }
  Tensor logits() const { return model(idx).detach(); }
  void set(const std::string& field, const json& value) const {
    json config = json::parse(files::read(folder / kAdapterConfig));
    config[field] = value;
    std::ofstream(folder / kAdapterConfig) << config.dump();
  }
  std::string refusal() const {
    return error_of([&] { load_pretrained(folder); });
  }
};

TEST_CASE("an adapter comes back, apart from the weights and in them") {
  const std::string arch = GENERATE("gpt2", "llama", "gemma", "mingru");
  const double rounding = arch == "gemma" ? 1e-5 : 1e-6;  // Its outer norms make small outputs large.
  const Adapted saved(arch);
  const Tensor expected = saved.logits();
  CHECK(difference(load_pretrained(saved.base)(saved.idx).detach(), expected, 1e-3) != "");
  const Decoder apart = load_with_adapter(saved.base, saved.snapshot(), saved.model.config());
  CHECK(difference(apart(saved.idx).detach(), expected, 0) == "");
  CHECK(difference(load_pretrained(saved.folder)(saved.idx).detach(), expected, rounding) == "");
  CHECK(check_pretrained(saved.folder) == saved.model.config());
}

TEST_CASE("a base may be a checkpoint, and is known by its values", "[needs.formats]") {
  const testing::TemporaryFolder root;
  const std::filesystem::path file = root / "base/ckpt.pt", folder = root / "adapter";
  std::filesystem::create_directories(root / "base");
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(testing::test_files() / "nn/golden/checkpoints/nano.pt", file);
  const Tensor idx = tensor(std::vector<int64_t>{1, 4, 9, 2, 0, 10}, {2, 3});
  for (const std::filesystem::path& base : {file, file.parent_path()}) {
    INFO(base);
    CHECK(weights_checksum(base) ==
          "644c59a5");  // Python's zlib.crc32 of the values, which golden/model has, too
    CHECK(weights_checksum(testing::test_files() / "models/golden/model") == "644c59a5");
    Decoder model = load_pretrained(base), merged = load_pretrained(base);
    Generator g(7), same(7);
    adapt(model, {.rank = 2}, g);
    adapt(merged, {.rank = 2}, same);
    nn::merge_lora(merged);
    // Earlier versions wrote zlib.crc32 of nano.pt, or zeros.
    for (const std::string sum : {"644c59a5", "21b0e4ef", "00000000", "21b0e4ee"}) {
      files::FolderUpdate update(folder);
      save_adapter(model, base.string(), sum, update);
      update.commit_without_list();
      CHECK(base_of({folder, {}}) == base);
      if (sum == "21b0e4ee")
        CHECK_HAS(error_of([&] { load_pretrained(folder); }), "got other weights");
      else
        CHECK(difference(load_pretrained(folder)(idx).detach(), merged(idx).detach(), 0) == "");
    }
  }
}

TEST_CASE("the files have PEFT's names") {
  const Adapted saved("gpt2", {.rank = 2, .alpha = 6, .on = {"*.attn.c_proj"}});
  const json config = json::parse(files::read(saved.folder / kAdapterConfig));
  CHECK(config.at("peft_type") == "LORA");
  CHECK(config.at("r") == 2);
  CHECK(config.at("lora_alpha") == 6);
  // The MLP has a c_proj without an adapter, so that the last part of the name is not enough.
  CHECK(config.at("target_modules") == json{"transformer.h.0.attn.c_proj", "transformer.h.1.attn.c_proj"});
  const nn::StateDict tensors = nn::load_safetensors(saved.folder / kAdapterFile);
  CHECK(tensors.size() == 4);
  CHECK(tensors.at("base_model.model.transformer.h.1.attn.c_proj.lora_A.weight").shape() == Shape{2, 8});
  CHECK(tensors.at("base_model.model.transformer.h.1.attn.c_proj.lora_B.weight").shape() == Shape{8, 2});
  const Adapted llama("llama", {.rank = 2, .on = {"q_proj", "v_proj"}});
  CHECK(json::parse(files::read(llama.folder / kAdapterConfig)).at("target_modules") ==
        json{"q_proj", "v_proj"});
}

TEST_CASE("other ranks, alphas and scales of PEFT's are read") {
  const Adapted saved("llama", {.rank = 4, .alpha = 8, .on = {"q_proj"}});
  CHECK(saved.scales() == std::vector<double>{2, 2});
  saved.set("use_rslora", true);
  CHECK(saved.scales() == std::vector<double>{4, 4});
  saved.set("alpha_pattern", {{"layers.1.self_attn.q_proj", 2}});
  CHECK(saved.scales() == std::vector<double>{4, 1});
}

TEST_CASE("patterns match whole parts of the names that PEFT sees, the first that fits") {
  const std::string arch = GENERATE("gpt2", "llama");
  const bool is_gpt2 = arch == "gpt2";
  const std::string layer = is_gpt2 ? "c_fc" : "up_proj",
                    before = is_gpt2 ? "transformer.h." : "model.layers.";
  const Adapted saved(arch, {.rank = 2, .alpha = 4, .on = {layer}});
  const auto scales = [&](const std::string& patterns) {
    saved.set("alpha_pattern", json::parse(patterns));
    return saved.scales();
  };
  // PEFT: re.match(rf"(.*\\.)?({key})$", name), the first key of the object that matches.
  CHECK(scales("{}") == std::vector<double>{2, 2});
  CHECK(scales("{\"" + before + "0.mlp." + layer + "\": 10}") == std::vector<double>{5, 2});
  CHECK(scales("{\"1.mlp." + layer + "\": 6, \"" + layer + "\": 8}") == std::vector<double>{4, 3});
  CHECK(scales("{\"" + layer.substr(1) + "\": 8, \"ransformer.h.0.mlp." + layer + "\": 8}") ==
        std::vector<double>{2, 2});
  CHECK(scales("{\"" + std::string(is_gpt2 ? "c.fc" : "up.proj") + "\": 8}") == std::vector<double>{4, 4});
  CHECK(scales(is_gpt2 ? R"({"h.1.mlp.c..c": 8})" : R"({"layers.1.mlp.u..proj": 8})") ==
        std::vector<double>{2, 4});
  CHECK(scales(R"({"..mlp.)" + layer + R"(": 8})") == std::vector<double>{4, 4});
  CHECK(scales(R"({".....0.mlp.)" + layer + R"(": 8})") == std::vector<double>{2, 2});
  saved.set("rank_pattern", json{{before + "0.mlp." + layer, 2}, {layer, 3}});
  CHECK_HAS(saved.refusal(), "must have the rank of adapter_config.json, 3, got 2");
  saved.set("r", 5);
  saved.set("rank_pattern", json{{layer, 2}});
  CHECK(saved.refusal() == "");
}

TEST_CASE("the base model may be in a narrower format", "[needs.fast]") {
  const Adapted saved("llama");
  const DType dtype = GENERATE(DType::bfloat16, DType::q8_0, DType::q4_0);
  const Decoder model = load_with_adapter(saved.base, saved.snapshot(), saved.model.config(), dtype);
  Decoder expected = load_pretrained(saved.base);
  expected.to(dtype);
  const nn::StateDict values = expected.state_dict(), given = model.state_dict();
  for (const auto& [name, value] : values) {
    CHECK(given.at(name).dtype() == value.dtype());
    CHECK(difference(given.at(name).to(DType::float32), value.to(DType::float32), 0) == "");
  }
  for (const auto& [name, parameter] : model.named_parameters())
    CHECK(parameter.requires_grad() == (name.find("lora_") != std::string::npos));
}

TEST_CASE("adapters are refused by name") {
  const Adapted saved("llama");
  const auto refuses = [&](const std::string& field, const json& value, const std::string& words) {
    const std::string before = files::read(saved.folder / kAdapterConfig);
    saved.set(field, value);
    CHECK_HAS(saved.refusal(), words);
    std::ofstream(saved.folder / kAdapterConfig) << before;
  };
  refuses("peft_type", "IA3", "peft_type must be 'LORA', got 'IA3'.");
  refuses("use_dora", true,
          "use_dora is not read and may change the meaning; it must be left out, got true.");
  for (const char* field :
       {"lora_bias", "use_qalora", "alora_invocation_tokens", "layer_replication", "target_parameters",
        "arrow_config", "trainable_token_indices", "a_field_of_2030"})
    refuses(field, json{{"a", 1}}, concat(field, " is not read and may change the meaning"));
  for (const char* field : {"use_lora", "scale_by_rank"})
    refuses(field, false, concat(field, " is not read"));
  refuses("modules_to_save", {"lm_head"},
          "modules_to_save is not read and may change the meaning; it must be left out, got a list of 1");
  refuses("bias", "all", "bias must be 'none', got 'all'.");
  refuses("init_lora_weights", "pissa", "init_lora_weights must be");
  refuses("r", 0, "r must be");
  refuses("lora_alpha", 0, "lora_alpha must be above 0, got 0.");
  refuses("alpha_pattern", {{"^q_proj", 2}}, "must be for the name of a layer, got '^q_proj'.");
  refuses(
      "base_model_name_or_path", "/nowhere",
      "base_model_name_or_path must be the folder of the base model, got '/nowhere', which is not there.");
  refuses("base_model_name_or_path", saved.folder.string(), "which has another adapter.");
  CHECK(saved.refusal() == "");
  for (const char* field :
       {"target_modules", "layers_to_transform", "auto_mapping", "peft_version", "loftq_config"})
    saved.set(field, "x");
  for (const char* field : {"use_dora", "lora_bias", "use_qalora", "ensure_weight_tying"})
    saved.set(field, false);
  CHECK(saved.refusal() == "");

  nn::StateDict tensors = nn::load_safetensors(saved.folder / kAdapterFile), flags = tensors;
  flags.begin()->second = gt(flags.begin()->second, 0.0);
  nn::save_safetensors(saved.folder / kAdapterFile, flags);
  CHECK_HAS(saved.refusal(), "must be F32, F16, BF16 or F64, got BOOL.");
  flags.begin()->second = full(tensors.begin()->second.shape(), NAN);
  nn::save_safetensors(saved.folder / kAdapterFile, flags);
  CHECK_HAS(saved.refusal(), "must be finite, got NaN or infinity at (0, 0).");
  tensors.emplace("base_model.model.lm_head.lora_A.weight", zeros({2, 8}));
  nn::save_safetensors(saved.folder / kAdapterFile, tensors);
  CHECK_HAS(saved.refusal(), "got 'base_model.model.lm_head.lora_A.weight'.");
}

TEST_CASE("an adapter knows its base") {
  Adapted saved("llama");
  Generator g(9);
  save_pretrained(Decoder(config_of("llama"), g), saved.base);
  CHECK_HAS(saved.refusal(), "the base model must be the one that it was trained on, got other weights in");
}

}  // namespace gradus::models::test_adapter

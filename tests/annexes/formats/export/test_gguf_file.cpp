// GGUF files of models: keys and tensors as llama.cpp's converter has them. (.ci/clients asks llama.cpp.)
#include <cstdio>

#include "autograd/compare.hpp"
#include "exported.hpp"
#include "gradus/annexes/formats/export/export.hpp"
#include "gradus/annexes/formats/gguf/gguf.hpp"
#include "gradus/files/file.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_gguf_file {

using namespace testing;

struct Written {
  gguf::Header header;
  std::string bytes;

  const gguf::Tensor& tensor(const std::string& name) const {
    for (const gguf::Tensor& tensor : header.tensors)
      if (tensor.name == name) return tensor;
    throw std::out_of_range(name);
  }
  /// The values of a tensor of F32.
  std::vector<float> values(const std::string& name) const {
    const gguf::Tensor& of = tensor(name);
    if (of.type.name != "F32") throw std::logic_error(name);
    std::vector<float> values(of.bytes / sizeof(float));
    std::memcpy(values.data(), bytes.data() + header.data_start + of.begin, of.bytes);
    return values;
  }
  std::string text(const std::string& key) const { return std::get<std::string>(*header.find(key)); }
  uint32_t number(const std::string& key) const { return std::get<uint32_t>(*header.find(key)); }
  std::vector<std::string> texts(const std::string& key) const {
    return std::get<gguf::List>(*header.find(key)).texts;
  }
};

Written write(const train::TrainedModel& trained, const std::string& type = "f32") {
  const testing::TemporaryFolder folder;
  exports::write_gguf(trained, "my model", type, folder / "x.gguf");
  return {gguf::read_header(folder / "x.gguf"), files::read(folder / "x.gguf")};
}

std::vector<float> values_of(const Tensor& tensor) { return tensor.detach().contiguous().to_vector<float>(); }

std::set<std::string> names(const Written& file) {
  std::set<std::string> all;
  for (const gguf::Tensor& tensor : file.header.tensors) all.insert(tensor.name);
  return all;
}

TEST_CASE("a GPT-2 has llama.cpp's names, and matrices as they are used") {
  const data::Tokenizer tokenizer = testing::small_pairs();
  models::DecoderConfig config = testing::small_gpt2(tokenizer);
  config.n_layer = 1;
  config.bias = GENERATE(true, false);
  const train::TrainedModel trained = exported(config, tokenizer);
  const Written file = write(trained);
  CHECK(names(file) ==
        std::set<std::string>{"token_embd.weight", "position_embd.weight", "output_norm.weight",
                              "output_norm.bias", "blk.0.attn_norm.weight", "blk.0.attn_norm.bias",
                              "blk.0.attn_qkv.weight", "blk.0.attn_qkv.bias", "blk.0.attn_output.weight",
                              "blk.0.attn_output.bias", "blk.0.ffn_norm.weight", "blk.0.ffn_norm.bias",
                              "blk.0.ffn_up.weight", "blk.0.ffn_up.bias", "blk.0.ffn_down.weight",
                              "blk.0.ffn_down.bias"});
  const nn::StateDict state = trained.model.state_dict();
  CHECK(file.values("blk.0.ffn_up.weight") == values_of(state.at("h.0.mlp.c_fc.weight")));
  CHECK(file.values("blk.0.attn_qkv.weight") == values_of(state.at("h.0.attn.c_attn.weight")));
  CHECK(file.tensor("blk.0.ffn_up.weight").shape == std::vector<uint64_t>{128, 32});
  CHECK(file.values("position_embd.weight") == values_of(state.at("wpe.weight")));
  const std::vector<float> bias = file.values("blk.0.ffn_up.bias");
  CHECK(bias == (config.bias ? values_of(state.at("h.0.mlp.c_fc.bias")) : std::vector<float>(128, 0.0F)));

  CHECK(file.text("general.architecture") == "gpt2");
  CHECK(file.text("general.name") == "my model");
  CHECK(file.number("general.file_type") == 0);
  CHECK(file.number("gpt2.context_length") == 40);
  CHECK(file.number("gpt2.embedding_length") == 32);
  CHECK(file.number("gpt2.block_count") == 1);
  CHECK(file.number("gpt2.feed_forward_length") == 128);
  CHECK(file.number("gpt2.attention.head_count") == 2);
  CHECK(std::get<float>(*file.header.find("gpt2.attention.layer_norm_epsilon")) == 1e-5F);
}

TEST_CASE("a llama's queries and keys have neighbours side by side, a Qwen3's not") {
  const bool qwen3 = GENERATE(false, true);
  models::DecoderConfig config = qwen3 ? testing::small_qwen3() : testing::kSmallLlama;
  config.dropout = 0;
  const train::TrainedModel trained = exported(config, data::Tokenizer::bytes());
  const Written file = write(trained);
  const nn::StateDict state = trained.model.state_dict();
  const std::string layer = "model.layers.1.";
  for (const auto& [theirs, ours] : {std::pair{"blk.1.attn_q.weight", "self_attn.q_proj.weight"},
                                     std::pair{"blk.1.attn_k.weight", "self_attn.k_proj.weight"}}) {
    // Row 2i of a head is its row i, row 2i + 1 its row i + hs / 2.
    const std::vector<float> from = values_of(state.at(layer + ours)), to = file.values(theirs);
    const size_t C = 16, hs = 4, rows = from.size() / C;
    REQUIRE(to.size() == from.size());
    for (size_t row = 0; row < rows; ++row) {
      const size_t head = row / hs, in_head = row % hs;
      const size_t source = qwen3 ? row : head * hs + in_head / 2 + (in_head % 2 == 0 ? 0 : hs / 2);
      for (size_t c = 0; c < C; ++c) CHECK(to[row * C + c] == from[source * C + c]);
    }
  }
  CHECK(file.values("blk.1.attn_v.weight") == values_of(state.at(layer + "self_attn.v_proj.weight")));
  CHECK(file.values("blk.1.ffn_gate.weight") == values_of(state.at(layer + "mlp.gate_proj.weight")));
  CHECK(file.values("token_embd.weight") == values_of(state.at("model.embed_tokens.weight")));
  CHECK(names(file).count("output.weight") == (qwen3 ? 1 : 0));
  CHECK(names(file).count("blk.0.attn_q_norm.weight") == (qwen3 ? 1 : 0));

  const std::string arch = qwen3 ? "qwen3" : "llama";
  CHECK(file.text("general.architecture") == arch);
  CHECK(file.number(arch + ".attention.head_count") == 4);
  CHECK(file.number(arch + ".attention.head_count_kv") == (qwen3 ? 1 : 2));
  CHECK(file.number(arch + ".attention.key_length") == 4);
  CHECK(file.number(arch + ".feed_forward_length") == static_cast<uint32_t>(config.inner()));
  CHECK(std::get<float>(*file.header.find(arch + ".rope.freq_base")) == (qwen3 ? 500.0F : 10000.0F));
  CHECK(std::get<float>(*file.header.find(arch + ".attention.layer_norm_rms_epsilon")) ==
        (qwen3 ? 1e-6F : 1e-5F));
}

TEST_CASE("a Gemma has llama.cpp's gemma3: norms plus 1, queries and keys as they are, windows in 5 of 6") {
  models::DecoderConfig config = testing::kSmallLlama;
  config.arch = "gemma";
  config.attention = {.rope_scaling = {.type = "linear", .factor = 8.0}, .window = 3, .window_pattern = 6};
  const train::TrainedModel trained = exported(config, data::Tokenizer::bytes());
  const Written file = write(trained);
  std::set<std::string> expected = {"token_embd.weight", "output_norm.weight"};
  const nn::StateDict state = trained.model.state_dict();
  for (const auto& [theirs, ours] :
       std::map<std::string, std::string>{{"attn_norm", "input_layernorm"},
                                          {"attn_q", "self_attn.q_proj"},
                                          {"attn_k", "self_attn.k_proj"},
                                          {"attn_v", "self_attn.v_proj"},
                                          {"attn_output", "self_attn.o_proj"},
                                          {"attn_q_norm", "self_attn.q_norm"},
                                          {"attn_k_norm", "self_attn.k_norm"},
                                          {"post_attention_norm", "post_attention_layernorm"},
                                          {"ffn_norm", "pre_feedforward_layernorm"},
                                          {"ffn_gate", "mlp.gate_proj"},
                                          {"ffn_up", "mlp.up_proj"},
                                          {"ffn_down", "mlp.down_proj"},
                                          {"post_ffw_norm", "post_feedforward_layernorm"}}) {
    for (int i = 0; i < 2; ++i) expected.insert(concat("blk.", i, ".", theirs, ".weight"));
    const Tensor weight = state.at("model.layers.1." + ours + ".weight");
    CHECK(file.values("blk.1." + theirs + ".weight") == values_of(weight.dim() == 1 ? weight + 1.0 : weight));
  }
  CHECK(names(file) == expected);
  CHECK(file.text("general.architecture") == "gemma3");
  CHECK(file.number("gemma3.attention.sliding_window") == 3);
  CHECK(file.number("gemma3.attention.head_count_kv") == 2);
  CHECK(file.text("gemma3.rope.scaling.type") == "linear");
  CHECK(std::get<float>(*file.header.find("gemma3.rope.scaling.factor")) == 8.0F);

  const auto refused = [&](const models::AttentionVariant& attention, const char* message) {
    config.attention = attention;
    const train::TrainedModel other = exported(config, data::Tokenizer::bytes());
    CHECK(testing::error_of([&] { write(other); }) == message);
  };
  refused({.window = 3, .window_pattern = 2},
          "[export] a GGUF file must have windows in 5 of 6 layers, got 1 of 2.");
  refused({.rope_scaling = {.type = "llama3", .factor = 8.0, .original_length = 8}},
          "[export] a GGUF file of this model must have rope_scaling of type linear or none, got llama3.");
}

TEST_CASE("smaller types are for matrices of whole blocks") {
  const data::Tokenizer tokenizer = data::Tokenizer::bytes();
  models::DecoderConfig config = testing::kSmallLlama;
  config.n_embd = 32;
  config.n_inner = 40;  // down_proj has rows of 40
  const train::TrainedModel trained = exported(config, tokenizer);
  const Written half = write(trained, "f16"), eighth = write(trained, "q8_0");
  CHECK(half.number("general.file_type") == 1);
  CHECK(eighth.number("general.file_type") == 7);
  CHECK(eighth.number("general.quantization_version") == 2);
  CHECK(half.tensor("token_embd.weight").type.name == "F16");
  CHECK(eighth.tensor("token_embd.weight").type.name == "Q8_0");
  CHECK(eighth.tensor("blk.0.ffn_down.weight").type.name == "F16");
  CHECK(eighth.tensor("output_norm.weight").type.name == "F32");
  const train::TrainedModel gpt2 = exported(testing::small_gpt2(tokenizer), tokenizer);
  CHECK(write(gpt2, "q8_0").tensor("position_embd.weight").type.name == "F32");
}

TEST_CASE("byte pairs are GPT-2's tokenizer, which ends at its special token") {
  const data::Tokenizer tokenizer = testing::small_pairs();
  const Written file = write(exported(testing::small_gpt2(tokenizer), tokenizer));
  CHECK(file.text("tokenizer.ggml.model") == "gpt2");
  CHECK(file.text("tokenizer.ggml.pre") == "gpt-2");
  CHECK(file.texts("tokenizer.ggml.merges") == std::vector<std::string>{"a b", "ab c", "\xC4\xA0 a"});
  const std::vector<std::string> tokens = file.texts("tokenizer.ggml.tokens");
  REQUIRE(tokens.size() == 260);
  CHECK(tokens[0] == "!");
  CHECK(tokens[258] ==
        "\xC4\xA0"
        "a");
  CHECK(tokens[259] == "<|endoftext|>");
  CHECK(file.number("tokenizer.ggml.eos_token_id") == 259);
  CHECK(file.number("tokenizer.ggml.bos_token_id") == 259);
  CHECK_FALSE(std::get<bool>(*file.header.find("tokenizer.ggml.add_bos_token")));
  std::vector<int32_t> types(260, 1);
  types[259] = 3;
  CHECK(std::get<gguf::List>(*file.header.find("tokenizer.ggml.token_type")) ==
        gguf::List::of_numbers(types));

  // llama.cpp joins the parts of words that are tokens, unless their name is llama-bpe.
  const auto refusal = [&](std::initializer_list<std::pair<std::string, std::string>> changes) {
    std::string json = tokenizer.to_tokenizer_json();
    for (const auto& [from, to] : changes) json.replace(json.find(from), from.size(), to);
    const data::Tokenizer other = data::Tokenizer::from_tokenizer_json(json);
    return error_of([&] { write(exported(testing::small_gpt2(other), other)); });
  };
  const std::string off = "\"ignore_merges\": false", on = "\"ignore_merges\": true",
                    none = "\"normalizer\": null";
  CHECK(refusal({{off, on}, {none, R"("normalizer": {"type": "NFC"})"}}) == "");
  CHECK_HAS(refusal({{none, R"("normalizer": {"type": "Prepend", "prepend": "x"})"}}), "got another");
  CHECK_HAS(refusal({{off, on}, {"\n      \"ab c\",", ""}}), "ignore_merges of tokenizer.json must be false");

  // It joins whatever makes a token of characters: each way to make one must be a merge, side by side.
  const auto of_characters = [](std::string vocab, const std::string& merges) {
    for (int byte = 0; byte < 256; ++byte) {
      char name[32];
      std::snprintf(name, sizeof name, ", \"<0x%02X>\": %d", unsigned(byte), 6 + byte);
      vocab += name;
    }
    const data::Tokenizer other = data::Tokenizer::from_tokenizer_json(
        R"({"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}, "model": {"type": "BPE", )"
        R"("byte_fallback": true, "vocab": {)" +
        vocab + R"(}, "merges": [)" + merges + "]}}");
    return error_of([&] { write(exported(testing::small_gpt2(other), other)); });
  };
  const std::string vocab = R"("a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5)";
  CHECK(of_characters(vocab, R"("a b", "b c", "ab c", "a bc")") == "");
  CHECK_HAS(of_characters(vocab, R"("a b", "b c", "ab c")"), "of two, as llama.cpp has, got fewer for 'abc'");
  CHECK_HAS(of_characters(vocab, R"("b c", "a bc", "a b", "ab c")"), "got others between those of 'abc'");

  const data::Tokenizer endless = data::small_tokenizer(testing::kSmallMerges);
  const Written other = write(exported(testing::small_gpt2(endless), endless));
  CHECK(other.number("tokenizer.ggml.eos_token_id") == static_cast<uint32_t>(endless.encode("\xFF").front()));
}

TEST_CASE("characters and bytes are tokens of the longest match, with no token that ends a text") {
  const data::Tokenizer characters = testing::awkward_characters();
  const Written file = write(exported(testing::small_gpt2(characters), characters));
  CHECK(file.text("tokenizer.ggml.model") == "rwkv");
  CHECK(file.texts("tokenizer.ggml.tokens") == std::vector<std::string>{"\\x09", "\\x0a", " ", "\"", "'", "<",
                                                                        "\\\\", "a", "\\x7f", "é", "“", "語",
                                                                        "😀"});
  CHECK(file.header.find("tokenizer.ggml.eos_token_id") == nullptr);

  const data::Tokenizer bytes = data::Tokenizer::bytes();
  const std::vector<std::string> tokens =
      write(exported(testing::small_gpt2(bytes), bytes)).texts("tokenizer.ggml.tokens");
  REQUIRE(tokens.size() == 256);
  CHECK(tokens[0] == "\\x00");
  CHECK(tokens['a'] == "a");
  CHECK(tokens['\\'] == "\\\\");
  CHECK(tokens[0xC3] == "\\xc3");
}

}  // namespace gradus::test_gguf_file

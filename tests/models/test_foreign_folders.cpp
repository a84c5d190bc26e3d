// GPT-2 folders that others wrote: each of the same weights as the golden one, and so with PyTorch's numbers.
#include "autograd/compare.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "models/foreign.hpp"

namespace gradus::models::test_foreign_folders {

using namespace testing;

/// The tokens in another order: 4, 5, ..., 10, 0, 1, 2, 3.
Tensor turned_round(const Tensor& x, int64_t dim) {
  return cat({x.slice(dim, 4, 11), x.slice(dim, 0, 4)}, dim);
}

/// What PyTorch computed, against a model of those weights. A head of its own takes part of the gradient.
void check_golden(const std::filesystem::path& folder) {
  const auto [dtype, tolerance] = GENERATE(std::pair(DType::float32, 1e-5), std::pair(DType::float64, 1e-10));
  const nn::StateDict expected =
      nn::load_safetensors(golden() / "expected.safetensors", /*keep_float64=*/true);
  Decoder model = load_pretrained(folder);
  model.eval();
  model.to(dtype);
  CHECK(relative_error(model(expected.at("idx")), expected.at("logits")) < tolerance);
  const Tensor loss = model.loss(expected.at("idx"), expected.at("targets"));
  CHECK(relative_error(loss, expected.at("loss")) < tolerance);
  loss.backward();
  size_t seen = 0;
  const auto parameters = model.named_parameters();
  const auto& [last_name, last] = parameters.back();
  for (const auto& [name, parameter] : parameters) {
    if (name == "lm_head.weight") continue;
    INFO(name);
    Tensor gradient = parameter.grad();
    if (name == "wte.weight" && last_name == "lm_head.weight") gradient = gradient + last.grad();
    CHECK(relative_error(gradient, expected.at("grad." + name)) < tolerance);
    ++seen;
  }
  CHECK(seen + 4 == expected.size());
}

TEST_CASE("a prefix, mask buffers, a head that is tied, and keys that change nothing") {
  Foreign foreign;
  foreign.tensors["lm_head.weight"] = foreign.tensors["wte.weight"];
  foreign.prefix("transformer.");
  foreign.rename("transformer.lm_head.weight", "lm_head.weight");
  foreign.tensors["transformer.h.0.attn.bias"] = {"U8", {1, 1, 6, 6}, std::string(36, '\1')};
  foreign.tensors["transformer.h.1.attn.masked_bias"] =
      testing::as_f32(full({}, -INFINITY).to(DType::float32));
  foreign.config["summary_type"] = "cls_index";
  foreign.config["task_specific_params"] = {{"text-generation", {{"do_sample", true}}}};
  foreign.config["reorder_and_upcast_attn"] = true;
  foreign.config["something_of_tomorrow"] = nlohmann::json::object();
  foreign.write();
  check_golden(foreign.folder.path());
}

TEST_CASE("a tied matrix may be stored under either name, and a head of its own beside it") {
  Foreign foreign;
  const bool is_tied = GENERATE(true, false);
  if (is_tied)
    foreign.rename("wte.weight", "lm_head.weight");
  else
    foreign.tensors["lm_head.weight"] = foreign.tensors["wte.weight"];
  foreign.config["tie_word_embeddings"] = is_tied;
  foreign.write();
  check_golden(foreign.folder.path());
  CHECK(load_pretrained(foreign.folder.path()).state_dict().contains("lm_head.weight") != is_tied);
}

TEST_CASE("the rows of a head of its own are the logits' own") {
  const nn::StateDict expected = nn::load_safetensors(golden() / "expected.safetensors", true);
  Foreign foreign;
  foreign.tensors["lm_head.weight"] = testing::as_f32(turned_round(foreign.values.at("wte.weight"), 0) * 2.0);
  foreign.config["tie_word_embeddings"] = false;
  foreign.write();
  Decoder model = load_pretrained(foreign.folder.path());
  model.eval();
  model.to(DType::float64);
  CHECK(relative_error(model(expected.at("idx")), turned_round(expected.at("logits"), 2) * 2.0) < 1e-10);

  // It is saved under the names of GPT2LMHeadModel, and comes back.
  const testing::TemporaryFolder again;
  save_pretrained(load_pretrained(foreign.folder.path()), again.path());
  const nn::StateDict saved = nn::load_safetensors(again / "model.safetensors");
  CHECK(saved.contains("lm_head.weight"));
  CHECK(saved.contains("transformer.wte.weight"));
  CHECK(testing::difference(saved.at("lm_head.weight"),
                            turned_round(foreign.values.at("wte.weight"), 0) * 2.0, 0) == "");
  Decoder back = load_pretrained(again.path());
  back.eval();
  back.to(DType::float64);
  CHECK(testing::difference(back(expected.at("idx")), model(expected.at("idx")), 0) == "");
  CHECK(back.num_parameters() == back.config().num_parameters());
}

TEST_CASE("rows that fill a vocabulary up are left out") {
  Foreign foreign;
  foreign.pad("wte.weight", 64);
  foreign.tensors["lm_head.weight"] = foreign.tensors["wte.weight"];
  foreign.config["tie_word_embeddings"] = GENERATE(true, false);
  foreign.write();
  check_golden(foreign.folder.path());
  CHECK(load_pretrained(foreign.folder.path()).config().vocab_size == 11);
  CHECK(check_pretrained(foreign.folder.path()).vocab_size == 11);
}

TEST_CASE("a config may count the filling rows; the caller knows better") {
  Foreign foreign;
  const int64_t rows = GENERATE(12, 64, 1200);
  foreign.pad("wte.weight", rows);
  foreign.config["vocab_size"] = rows;
  foreign.write();
  const auto files = [&](const auto& read) { return files::read_folder(foreign.folder.path(), read); };
  DecoderConfig cut = load_config(foreign.folder.path());
  CHECK(cut.vocab_size == rows);
  cut.vocab_size = 11;
  cut.block_size = 4;
  const Decoder model =
      files([&](const files::FolderSnapshot& folder) { return load_pretrained(folder, cut); });
  CHECK(testing::difference(model.state_dict().at("wte.weight"), foreign.values.at("wte.weight"), 0) == "");
  CHECK(testing::difference(model.state_dict().at("wpe.weight"),
                            foreign.values.at("wpe.weight").slice(0, 0, 4), 0) == "");
  const auto refusal = [&](const DecoderConfig& as) {
    return testing::error_of(
        [&] { files([&](const files::FolderSnapshot& folder) { return load_pretrained(folder, as); }); });
  };
  DecoderConfig other = cut;
  other.block_size = 7;
  CHECK(refusal(other) ==
        "[load_pretrained] block_size must be at most the 6 positions that the model has learnt, got 7.");
  other = cut;
  other.n_layer = 1;
  CHECK(refusal(other) ==
        "[load_pretrained] a model may be cut in vocab_size and block_size only, got another shape.");
  other = cut;
  other.vocab_size = rows + 1;
  CHECK(refusal(other) == concat("[load_pretrained] vocab_size must be the model's ", rows,
                                 ", or those of them that are no padding, got ", rows + 1, "."));
}

TEST_CASE("float64 files, and shards with an index") {
  Foreign foreign;
  if (GENERATE(true, false)) foreign.keep(testing::as_f64);
  foreign.write_shards(GENERATE(1, 3));
  check_golden(foreign.folder.path());
}

TEST_CASE("nanoGPT's names and its matrices", "[needs.formats]") {
  Foreign foreign;
  nn::StateDict turned;
  for (const auto& [name, value] : foreign.values)
    turned[name] = name == "wte.weight" || name == "wpe.weight" || value.dim() != 2 ? value : value.mT();
  foreign.values = turned;
  foreign.keep(testing::as_f32);
  foreign.prefix("transformer.");
  foreign.tensors["lm_head.weight"] = foreign.tensors["transformer.wte.weight"];
  foreign.prefix(GENERATE("", "_orig_mod.", "module.", "_orig_mod.module.", "module._orig_mod.",
                          "_fsdp_wrapped_module._orig_mod.module.", "model.", "_orig_mod.module.model."));
  foreign.config = {{"n_layer", 2}, {"n_head", 2},    {"n_embd", 16},    {"block_size", 6},
                    {"bias", true}, {"dropout", 0.0}, {"vocab_size", 11}};
  foreign.write();
  check_golden(foreign.folder.path());
}

TEST_CASE("the book's names, with a config of its own or of Hugging Face's keys", "[needs.formats]") {
  Foreign foreign;
  const auto transformers_config = foreign.config;
  foreign.make_book(/*qkv_bias=*/true);
  if (GENERATE(false, true)) {
    foreign.config = transformers_config;
    foreign.config["tie_word_embeddings"] = GENERATE(false, true);
  }
  foreign.write();
  check_golden(foreign.folder.path());
}

TEST_CASE("the book's models without biases of queries, keys and values have zeros there",
          "[needs.formats]") {
  Foreign foreign;
  foreign.make_book(/*qkv_bias=*/false);
  foreign.write();
  Foreign zeroed;
  for (const char* name : {"h.0.attn.c_attn.bias", "h.1.attn.c_attn.bias"})
    zeroed.tensors[name] = testing::as_f32(zeros({48}));
  zeroed.write();
  const nn::StateDict expected = nn::load_safetensors(golden() / "expected.safetensors", true);
  Decoder book = load_pretrained(foreign.folder.path()), plain = load_pretrained(zeroed.folder.path());
  book.eval();
  plain.eval();
  CHECK(testing::difference(book(expected.at("idx")), plain(expected.at("idx")), 0) == "");
  CHECK(relative_error(book(expected.at("idx")), expected.at("logits")) > 1e-3);
}

TEST_CASE("a module of the book has PyTorch's logits, loss and gradients: make_book_golden.py",
          "[needs.formats]") {
  const auto [dtype, tolerance] = GENERATE(std::pair(DType::float32, 1e-5), std::pair(DType::float64, 1e-10));
  const nn::StateDict expected = nn::load_safetensors(golden() / "book/expected.safetensors", true);
  Decoder model = load_pretrained(golden() / "book");
  model.eval();
  model.to(dtype);
  CHECK(relative_error(model(expected.at("idx")), expected.at("logits")) < tolerance);
  const Tensor loss = model.loss(expected.at("idx"), expected.at("targets"));
  CHECK(relative_error(loss, expected.at("loss")) < tolerance);
  loss.backward();

  std::map<std::string, std::string> layers{
      {"wte", "tok_emb"}, {"wpe", "pos_emb"}, {"ln_f", "final_norm"}, {"lm_head", "out_head"}};
  for (const std::string i : {"0", "1"})
    layers.insert({{"h." + i + ".ln_1", "trf_blocks." + i + ".norm1"},
                   {"h." + i + ".ln_2", "trf_blocks." + i + ".norm2"},
                   {"h." + i + ".attn.c_proj", "trf_blocks." + i + ".att.out_proj"},
                   {"h." + i + ".mlp.c_fc", "trf_blocks." + i + ".ff.layers.0"},
                   {"h." + i + ".mlp.c_proj", "trf_blocks." + i + ".ff.layers.2"}});
  size_t seen = 4;  // idx, targets, logits, loss
  for (const auto& [name, parameter] : model.named_parameters()) {
    INFO(name);
    const size_t dot = name.rfind('.');
    const std::string layer = name.substr(0, dot), what = name.substr(dot + 1);
    if (layer.ends_with("c_attn")) {
      if (what == "bias") continue;  // The book's has none.
      const std::string att = concat("grad.trf_blocks.", name[2], ".att.W_");
      CHECK(relative_error(parameter.grad(),
                           cat({expected.at(att + "query.weight"), expected.at(att + "key.weight"),
                                expected.at(att + "value.weight")},
                               0)) < tolerance);
      seen += 3;
      continue;
    }
    const bool is_norm = layer.find("ln_") != std::string::npos;
    const std::string theirs = !is_norm ? what : what == "weight" ? "scale" : "shift";
    CHECK(relative_error(parameter.grad(), expected.at("grad." + layers.at(layer) + "." + theirs)) <
          tolerance);
    ++seen;
  }
  CHECK(seen == expected.size());
}

}  // namespace gradus::models::test_foreign_folders

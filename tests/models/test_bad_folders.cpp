// Folders that are refused, each with its reason.
#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "models/foreign.hpp"

namespace gradus::test_bad_folders {

using namespace testing;
using nlohmann::json;

struct BadFolder {
  const char* what;
  void (*spoil)(Foreign&);
  const char* reason;  ///< a part of what is said, without the place of the folder
};

/// What is said of the folder, without its place.
std::string said_of(const Foreign& foreign) {
  std::string text = testing::error_of([&] { models::load_pretrained(foreign.folder.path()); });
  const std::string place = foreign.folder.path().string() + "/";
  while (text.find(place) != text.npos) text.erase(text.find(place), place.size());
  return text;
}

Raw floats(const Shape& shape) { return testing::as_f32(ones(shape)); }

const BadFolder kBadTensors[] = {
    {"a llama with GPT-2's names",
     [](Foreign& f) {
       f.config = {{"model_type", "llama"},       {"vocab_size", 11},       {"hidden_size", 16},
                   {"intermediate_size", 20},     {"num_hidden_layers", 2}, {"num_attention_heads", 4},
                   {"max_position_embeddings", 8}};
     },
     "missing: model.embed_tokens.weight, "},
    {"all faults in one message",
     [](Foreign& f) {
       f.tensors.erase("ln_f.bias");
       f.tensors["extra"] = floats({1});
       f.tensors["wpe.weight"] = floats({7, 16});
     },
     "got missing: ln_f.bias; unexpected: extra; misshaped: wpe.weight (7, 16) for (6, 16). Hint"},
    {"hundreds of faults, told briefly",
     [](Foreign& f) {
       for (int i = 0; i < 500; ++i) f.tensors[concat(std::string(300, 'x'), i)] = floats({1});
     },
     " and 480 more. Hint"},
    {"one matrix as a Linear has it",
     [](Foreign& f) {
       f.tensors["h.0.mlp.c_fc.weight"].shape = {64, 16};
     },
     "misshaped: h.0.mlp.c_fc.weight (64, 16) for (16, 64). Hint"},
    {"whole numbers",
     [](Foreign& f) {
       f.tensors["ln_f.bias"] = {"I64", {16}, std::string(128, '\0')};
     },
     "'ln_f.bias' must be F32, F16, BF16 or F64, got I64."},
    {"a weight that is no number",
     [](Foreign& f) { f.tensors["wpe.weight"].bytes.replace(4 * 17, 4, "\0\0\xC0\x7F", 4); },
     "values of 'wpe.weight' must be finite, got NaN or infinity at (1, 1)."},
    {"a number that is too large",
     [](Foreign& f) {
       f.tensors["ln_f.bias"] = as_f64(ones({16}));
       f.tensors["ln_f.bias"].bytes.replace(8 * 3 + 7, 1, "\xFF");
     },
     "values of 'ln_f.bias' must be finite, got NaN or infinity at (3,)."},
    {"a vocabulary that is longer, but not filled up", [](Foreign& f) { f.pad("wte.weight", 12); },
     "misshaped: wte.weight (12, 16) for (11, 16). Hint"},
    {"one filled up too far", [](Foreign& f) { f.pad("wte.weight", 1088); },
     "misshaped: wte.weight (1088, 16) for (11, 16). Hint"},
    {"a tied head of other values",
     [](Foreign& f) {
       f.tensors["lm_head.weight"] = floats({11, 16});
     },
     "lm_head.weight must equal wte.weight, the output projection is tied to it, got other values. Hint: if "
     "it is not tied, config.json must have \"tie_word_embeddings\": false."},
    {"a tied head of another shape",
     [](Foreign& f) {
       f.tensors["lm_head.weight"] = floats({10, 16});
     },
     "misshaped: lm_head.weight (10, 16) for (11, 16). Hint"},
    {"no head where it is not tied", [](Foreign& f) { f.config["tie_word_embeddings"] = false; },
     "got missing: lm_head.weight. Hint"},
    {"one name twice", [](Foreign& f) { f.tensors["transformer.ln_f.bias"] = f.tensors["ln_f.bias"]; },
     "names must be unique, got ln_f.bias and transformer.ln_f.bias for one parameter."},
};

const BadFolder kBadLayouts[] = {
    {"the book without its heads",
     [](Foreign& f) {
       f.make_book(true);
       f.config.erase("n_heads");
     },
     "config.json must have a field 'n_heads'."},
    {"nanoGPT without its width",
     [](Foreign& f) {
       f.config = {{"block_size", 6}, {"vocab_size", 11}};
     },
     "config.json must have a field 'n_embd'."},
    {"a model of another kind, without its type",
     [](Foreign& f) {
       f.config = {{"n_embd", 16}, {"architectures", {"OPTForCausalLM"}}};
     },
     "', got none, and architectures 'OPTForCausalLM'."},
    {"nothing", [](Foreign& f) { f.config = json::object(); },
     "config.json must have model_type, 'gpt2' or '"},
    {"the book without a head",
     [](Foreign& f) {
       f.make_book(false);
       f.tensors.erase("out_head.weight");
     },
     "got missing: out_head.weight. Hint"},
    {"the book, matrices turned",
     [](Foreign& f) {
       f.make_book(true);
       f.tensors["trf_blocks.0.ff.layers.0.weight"].shape = {16, 64};
     },
     "misshaped: trf_blocks.0.ff.layers.0.weight (16, 64) for (64, 16). Hint"},
};

/// What becomes of an index when three shards are there.
struct BadIndex {
  const char* what;
  void (*spoil)(json& index, const Foreign& f);
  const char* reason;
};

const BadIndex kBadIndexes[] = {
    {"no map", [](json& i, const Foreign&) { i.erase("weight_map"); },
     "model.safetensors.index.json must have a field 'weight_map'."},
    {"an empty map", [](json& i, const Foreign&) { i["weight_map"] = json::object(); },
     "weight_map must have tensors, got none."},
    {"a number for a file", [](json& i, const Foreign&) { i["weight_map"]["wte.weight"] = 1; },
     "weight_map, wte.weight must be a string, got 1."},
    {"a way out of the folder",
     [](json& i, const Foreign&) { i["weight_map"]["wte.weight"] = "../secret.safetensors"; },
     "must be the name of a file in the same folder, got '../secret.safetensors'."},
    {"too many files",
     [](json& i, const Foreign&) {
       for (int n = 0; n < 600; ++n) i["weight_map"][concat("t", n)] = concat("f", n);
     },
     "weight_map must name at most 512 files, got 603."},
    {"a shard that is missing",
     [](json&, const Foreign& f) { std::filesystem::remove(f.folder / Foreign::shard_name(1)); },
     "index.json: weight_map must name files in the folder, got 'model-00002-of-00003.safetensors', which"},
    {"a shard that is cut",
     [](json&, const Foreign& f) {
       const std::filesystem::path shard = f.folder / Foreign::shard_name(2);
       std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 4);
     },
     "model-00003-of-00003.safetensors: values must fill the rest of the file"},
    {"a shard that is a folder",
     [](json& i, const Foreign& f) {
       std::filesystem::create_directory(f.folder / "a");
       i["weight_map"]["wte.weight"] = "a";
     },
     "a: must be a file, got a folder."},
    {"a tensor that is not where it should be",
     [](json& i, const Foreign&) { i["weight_map"]["gone"] = Foreign::shard_name(0); },
     "'gone' must be in 'model-00001-of-00003.safetensors', as in weight_map, got a file without it."},
    {"a tensor that is elsewhere",
     [](json& i, const Foreign&) {
       std::string& place = i["weight_map"]["wte.weight"].get_ref<std::string&>();
       place = Foreign::shard_name(place == Foreign::shard_name(0) ? 1 : 0);
     },
     "weight_map must list the tensors of its files, got 'wte.weight' of"},
    {"a tensor that is not listed", [](json& i, const Foreign&) { i["weight_map"].erase("wte.weight"); },
     "listed nowhere."},
    {"a shard that is not listed",
     [](json&, const Foreign& f) { std::ofstream(f.folder / "model-00004-of-00004.safetensors"); },
     "weight_map must name all shards in the folder, got 'model-00004-of-00004.safetensors' besides."},
    {"no index",
     [](json& i, const Foreign& f) {
       i = nullptr;
       std::filesystem::remove(f.folder / "model.safetensors.index.json");
     },
     "must have model.safetensors.index.json, the list of its shards, got 'model-00001-of-00003.safe"},
};

template <class Folders>
void check_refused(const Folders& folders) {
  for (const BadFolder& bad : folders) {
    Foreign foreign;
    bad.spoil(foreign);
    foreign.write();
    INFO(bad.what);
    const std::string said = said_of(foreign);
    CHECK_HAS(said, bad.reason);
    CHECK(said.size() < 5000);
    CHECK(said.find('\n') == said.npos);
  }
}

TEST_CASE("tensors that are not the model's, each told by its name in the file") {
  check_refused(kBadTensors);
}

TEST_CASE("the same of nanoGPT and the book", "[needs.formats]") { check_refused(kBadLayouts); }

TEST_CASE("an index and shards that do not belong together") {
  for (const BadIndex& bad : kBadIndexes) {
    const Foreign foreign;
    foreign.write_shards(3);
    const std::filesystem::path file = foreign.folder / "model.safetensors.index.json";
    json index = json::parse(files::read(file));
    bad.spoil(index, foreign);
    if (!index.is_null()) std::ofstream(file) << index.dump();
    INFO(bad.what);
    CHECK_HAS(said_of(foreign), bad.reason);
  }
}

TEST_CASE("of a folder without a model the folders in it that have one are named") {
  const testing::TemporaryFolder folder;
  const auto said = [&] { return testing::error_of([&] { models::check_pretrained(folder.path()); }); };
  CHECK(said() == "[file] cannot read " + (folder / "config.json").string() + ": No such file or directory.");
  for (const char* name : {"b", "a", "none", "c", "d", "e", "f", "g", "h"})
    std::filesystem::create_directory(folder / name);
  for (const char* name : {"b", "a"}) std::ofstream(folder / name / "config.json") << "{}";
  CHECK(said() == concat("[load_config] ", folder.path(),
                         " must have config.json, got none. Hint: these subfolders have one: a, b."));
  for (const char* name : {"c", "d", "e", "f", "g", "h"})
    std::ofstream(folder / name / "config.json") << "{}";
  CHECK(said().ends_with("these subfolders have one: a, b, c, d, e, f, g, h."));
  std::filesystem::copy(folder / "h", folder / "i\n");
  CHECK(said().ends_with("these subfolders have one: a, b, c, d, e, f, g, h and 1 more."));
}

}  // namespace gradus::test_bad_folders

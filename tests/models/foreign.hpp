// Folders as others write them, made of the golden GPT-2 folder: renamed, turned, cut, in other numbers.
#pragma once

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/safetensors.hpp"
#include "temporary_folder.hpp"
#include "test_files.hpp"

namespace gradus::testing {

inline std::filesystem::path golden() { return test_files() / "models/golden"; }

/// A tensor as it lies in a file.
struct Raw {
  std::string dtype;
  Shape shape;
  std::string bytes;
};
using RawTensors = std::map<std::string, Raw>;

/// In the order of the names. Knows nothing of what gradus can write.
inline void write_raw(const std::filesystem::path& file, const RawTensors& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, raw] : tensors) {
    const std::vector<int64_t> shape(raw.shape.begin(), raw.shape.end());
    header[name] = {{"dtype", raw.dtype},
                    {"shape", shape},
                    {"data_offsets", {data.size(), data.size() + raw.bytes.size()}}};
    data += raw.bytes;
  }
  const std::string text = header.dump();
  const uint64_t size = text.size();
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), sizeof size);
  out << text << data;
}

template <class T, class Convert>
Raw raw_of(const Tensor& x, const char* dtype, Convert convert) {
  const std::vector<float> values = x.contiguous().to_vector<float>();
  std::string bytes(values.size() * sizeof(T), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const T stored = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &stored, sizeof(T));
  }
  return {dtype, x.shape(), bytes};
}

inline Raw as_f32(const Tensor& x) {
  return raw_of<float>(x, "F32", [](float v) { return v; });
}
inline Raw as_f64(const Tensor& x) {
  return raw_of<double>(x, "F64", [](float v) { return static_cast<double>(v); });
}

/// A folder that begins as the golden one; tests change its parts, then write them.
struct Foreign {
  TemporaryFolder folder;
  nlohmann::json config = nlohmann::json::parse(files::read(golden() / "model/config.json"));
  RawTensors tensors;
  nn::StateDict values = nn::load_safetensors(golden() / "model/model.safetensors");

  Foreign() { keep(as_f32); }
  void keep(Raw (*as)(const Tensor&)) {
    tensors.clear();
    for (const auto& [name, value] : values) tensors[name] = as(value);
  }
  void rename(const std::string& from, const std::string& to) {
    auto node = tensors.extract(from);
    node.key() = to;
    tensors.insert(std::move(node));
  }
  void prefix(const std::string& text) {
    RawTensors renamed;
    for (auto& [name, raw] : tensors) renamed[text + name] = raw;
    tensors = renamed;
  }
  /// Rows of zeros below a table.
  void pad(const std::string& name, int64_t rows) {
    Raw& raw = tensors.at(name);
    raw.bytes.resize(raw.bytes.size() / static_cast<size_t>(raw.shape[0]) * static_cast<size_t>(rows),
                     '\x3f');
    raw.shape[0] = rows;
  }
  /// As the book names and cuts them; q, k and v have biases if `qkv_bias`.
  void make_book(bool qkv_bias) {
    const nn::StateDict ours = values;
    tensors.clear();
    const auto put = [&](const std::string& name, const Tensor& value) { tensors[name] = as_f32(value); };
    put("tok_emb.weight", ours.at("wte.weight"));
    put("pos_emb.weight", ours.at("wpe.weight"));
    put("out_head.weight", ours.at("wte.weight"));
    put("final_norm.scale", ours.at("ln_f.weight"));
    put("final_norm.shift", ours.at("ln_f.bias"));
    for (int64_t i = 0; i < 2; ++i) {
      const std::string h = concat("h.", i, "."), block = concat("trf_blocks.", i, ".");
      const std::vector<Tensor> w = ours.at(h + "attn.c_attn.weight").chunk(3, 1),
                                b = ours.at(h + "attn.c_attn.bias").chunk(3, 0);
      const char* const parts[] = {"query", "key", "value"};
      for (size_t p = 0; p < 3; ++p) {
        put(concat(block, "att.W_", parts[p], ".weight"), w[p].mT());
        if (qkv_bias) put(concat(block, "att.W_", parts[p], ".bias"), b[p]);
      }
      put(block + "att.mask", ones({6, 6}));
      const std::pair<const char*, const char*> linears[] = {
          {"att.out_proj", "attn.c_proj"}, {"ff.layers.0", "mlp.c_fc"}, {"ff.layers.2", "mlp.c_proj"}};
      for (const auto& [theirs, name] : linears) {
        put(concat(block, theirs, ".weight"), ours.at(concat(h, name, ".weight")).mT());
        put(concat(block, theirs, ".bias"), ours.at(concat(h, name, ".bias")));
      }
      for (const char* n : {"1", "2"}) {
        put(concat(block, "norm", n, ".scale"), ours.at(concat(h, "ln_", n, ".weight")));
        put(concat(block, "norm", n, ".shift"), ours.at(concat(h, "ln_", n, ".bias")));
      }
    }
    config = {{"vocab_size", 11}, {"context_length", 6}, {"emb_dim", 16},       {"n_heads", 2},
              {"n_layers", 2},    {"drop_rate", 0.1},    {"qkv_bias", qkv_bias}};
  }
  /// In `count` files and an index.
  void write_shards(int count) const {
    std::vector<RawTensors> shards(static_cast<size_t>(count));
    nlohmann::json map;
    size_t i = 0;
    for (const auto& [name, raw] : tensors) {
      const size_t at = i++ % shards.size();
      shards[at][name] = raw;
      map[name] = shard_name(at);
    }
    for (size_t at = 0; at < shards.size(); ++at) write_raw(folder / shard_name(at), shards[at]);
    std::ofstream(folder / "model.safetensors.index.json")
        << nlohmann::json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump();
    write_config();
  }
  static std::string shard_name(size_t i) { return concat("model-0000", i + 1, "-of-00003.safetensors"); }
  void write_config() const { std::ofstream(folder / "config.json") << config.dump(); }
  void write() const {
    write_raw(folder / "model.safetensors", tensors);
    write_config();
  }
};

}  // namespace gradus::testing

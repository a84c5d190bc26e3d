#include "gradcheck_subjects.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/models/gpt.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/embedding.hpp"
#include "gradus/nn/gradcheck_module.hpp"
#include "gradus/nn/grouped_query_attention.hpp"
#include "gradus/nn/layer_norm.hpp"
#include "gradus/nn/mlp.hpp"
#include "gradus/nn/rms_norm.hpp"
#include "gradus/nn/self_attention.hpp"
#include "gradus/nn/swiglu.hpp"
#include "gradus/train/decoder.hpp"
#include "nearest.hpp"
#include "run_text.hpp"

namespace gradus::cli {
namespace {

/// key=value pairs over defaults; all values are numbers.
class Settings {
 public:
  Settings(std::map<std::string, double> defaults, const std::vector<std::string>& spec)
      : values_(std::move(defaults)) {
    for (auto it = spec.begin() + 1; it < spec.end(); ++it) {
      const size_t equals = it->find('=');
      const std::string key = it->substr(0, equals);
      if (equals == std::string::npos || !values_.contains(key))
        fail("gradcheck", "--layer ", spec[0], " must be followed by KEY=VALUE with KEY of ", keys(),
             ", got '", *it, "'.");
      values_[key] = number(*it, it->substr(equals + 1));
    }
  }

  int64_t whole(const std::string& key) const { return static_cast<int64_t>(values_.at(key)); }
  double real(const std::string& key) const { return values_.at(key); }
  bool flag(const std::string& key) const { return values_.at(key) != 0; }
  std::string keys() const {
    std::string list;
    for (const auto& [key, value] : values_) list += (list.empty() ? "" : ", ") + concat(key, "=", value);
    return list;
  }

 private:
  static double number(const std::string& pair, const std::string& text) {
    size_t used = 0;
    double value = 0;
    try {
      value = std::stod(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != text.size())
      fail("gradcheck", "a value must be a number (1 and 0 for yes and no), got '", pair, "'.");
    return value;
  }

  std::map<std::string, double> values_;
};

using Run = GradcheckReport (*)(const Settings& s, const GradcheckOptions& options);
struct Layer {
  std::map<std::string, double> defaults;
  Run run;
};

Tensor values(const Shape& shape, const GradcheckOptions& options) {
  Generator generator = Generator(options.seed).stream("input");
  return randn(shape, generator, DType::float64);
}

// Checks module(x) on x of the given shape; dropout draws the same mask at every call.
template <class M>
GradcheckReport on_values(const M& module, const Shape& shape, const GradcheckOptions& options) {
  return nn::gradcheck_module<M>(
      module, {values(shape, options)},
      [](const M& m, const std::vector<Tensor>& in) {
        if constexpr (std::invocable<const M&, const Tensor&, Generator*>) {
          Generator same(1);
          return m(in[0], &same);
        } else {
          return m(in[0]);
        }
      },
      options);
}

GradcheckReport run_embedding(const Settings& s, const GradcheckOptions& options) {
  Generator g(options.seed);
  const nn::Embedding layer(s.whole("num_embeddings"), s.whole("embedding_dim"), g);
  const Tensor index = randint(0, s.whole("num_embeddings"), {s.whole("batch"), s.whole("tokens")}, g);
  return nn::gradcheck_module<nn::Embedding>(
      layer, {}, [index](const nn::Embedding& m, const std::vector<Tensor>&) { return m(index); }, options);
}

GradcheckReport run_attention(const Settings& s, const GradcheckOptions& options) {
  Generator g(options.seed);
  const nn::MultiHeadAttention layer({.n_embd = s.whole("n_embd"),
                                      .n_head = s.whole("n_head"),
                                      .causal = s.flag("causal"),
                                      .bias = s.flag("bias"),
                                      .projection = s.flag("projection"),
                                      .projection_bias = s.flag("bias"),
                                      .dropout = s.real("dropout")},
                                     g);
  return on_values(layer, {s.whole("batch"), s.whole("tokens"), s.whole("n_embd")}, options);
}

GradcheckReport run_grouped_query_attention(const Settings& s, const GradcheckOptions& options) {
  Generator g(options.seed);
  const nn::GroupedQueryAttention layer({.n_embd = s.whole("n_embd"),
                                         .n_head = s.whole("n_head"),
                                         .n_kv_head = s.whole("n_kv_head"),
                                         .causal = s.flag("causal"),
                                         .rope_theta = s.real("rope_theta"),
                                         .qk_norm = s.flag("qk_norm"),
                                         .dropout = s.real("dropout")},
                                        g);
  return on_values(layer, {s.whole("batch"), s.whole("tokens"), s.whole("n_embd")}, options);
}

GradcheckReport run_self_attention(const Settings& s, const GradcheckOptions& options) {
  Generator g(options.seed);
  const nn::SelfAttention layer(
      {.d_in = s.whole("d_in"),
       .d_out = s.whole("d_out"),
       .mask_on = s.flag("mask_weights") ? nn::MaskOn::weights : nn::MaskOn::scores,
       .fill = s.flag("finite_fill") ? -1e9 : -std::numeric_limits<double>::infinity(),
       .scaled = s.flag("scaled"),
       .safe = s.flag("safe"),
       .dropout = s.real("dropout"),
       .num_heads = s.whole("num_heads"),
       .projection = s.flag("projection"),
       .bias = s.flag("bias")},
      g);
  return on_values(layer, {s.whole("batch"), s.whole("tokens"), s.whole("d_in")}, options);
}

GradcheckReport loss_of(const models::GPT& model, const Tensor& x, const Tensor& y,
                        const GradcheckOptions& options) {
  return nn::gradcheck_module<models::GPT>(
      model, {},
      [x, y](const models::GPT& m, const std::vector<Tensor>&) {
        Generator same(1);
        return m.loss(x, y, &same);
      },
      options);
}

/// With what both shapes of a decoder have.
models::GPTConfig decoder_config(const Settings& s, models::Arch arch) {
  return {.arch = arch,
          .vocab_size = s.whole("vocab_size"),
          .block_size = s.whole("tokens"),
          .n_layer = s.whole("n_layer"),
          .n_head = s.whole("n_head"),
          .n_embd = s.whole("n_embd"),
          .dropout = s.real("dropout"),
          .bias = false};
}

GradcheckReport run_decoder(const models::GPTConfig& config, const Settings& s,
                            const GradcheckOptions& options) {
  Generator g(options.seed);
  const models::GPT model(config, g);
  const Shape shape{s.whole("batch"), s.whole("tokens")};
  return loss_of(model, randint(0, config.vocab_size, shape, g), randint(0, config.vocab_size, shape, g),
                 options);
}

GradcheckReport run_gpt(const Settings& s, const GradcheckOptions& options) {
  models::GPTConfig config = decoder_config(s, models::Arch::gpt2);
  config.bias = s.flag("bias");
  return run_decoder(config, s, options);
}

GradcheckReport run_llama(const Settings& s, const GradcheckOptions& options) {
  models::GPTConfig config = decoder_config(s, models::Arch::llama);
  config.n_kv_head = s.whole("n_kv_head");
  config.n_inner = s.whole("n_inner");
  config.qk_norm = s.flag("qk_norm");
  config.tie_word_embeddings = s.flag("tied");
  return run_decoder(config, s, options);
}

const std::map<std::string, Layer>& layers() {
  static const std::map<std::string, Layer> all = {
      {"Linear",
       {{{"in_features", 3}, {"out_features", 4}, {"bias", 1}, {"batch", 2}},
        [](const Settings& s, const GradcheckOptions& o) {
          Generator g(o.seed);
          return on_values(nn::Linear(s.whole("in_features"), s.whole("out_features"), s.flag("bias"), g),
                           {s.whole("batch"), s.whole("in_features")}, o);
        }}},
      {"Embedding",
       {{{"num_embeddings", 5}, {"embedding_dim", 3}, {"batch", 2}, {"tokens", 4}}, run_embedding}},
      {"LayerNorm",
       {{{"features", 4}, {"bias", 1}, {"eps", 1e-5}, {"batch", 2}},
        [](const Settings& s, const GradcheckOptions& o) {
          return on_values(nn::LayerNorm(s.whole("features"), s.flag("bias"), s.real("eps")),
                           {s.whole("batch"), s.whole("features")}, o);
        }}},
      {"RMSNorm",
       {{{"features", 4}, {"eps", 1e-5}, {"batch", 2}},
        [](const Settings& s, const GradcheckOptions& o) {
          return on_values(nn::RMSNorm(s.whole("features"), s.real("eps")),
                           {s.whole("batch"), s.whole("features")}, o);
        }}},
      {"SwiGLU",
       {{{"n_embd", 3}, {"hidden", 8}, {"dropout", 0}, {"batch", 2}},
        [](const Settings& s, const GradcheckOptions& o) {
          Generator g(o.seed);
          return on_values(nn::SwiGLU(s.whole("n_embd"), s.whole("hidden"), s.real("dropout"), g),
                           {s.whole("batch"), s.whole("n_embd")}, o);
        }}},
      {"GroupedQueryAttention",
       {{{"n_embd", 8},
         {"n_head", 4},
         {"n_kv_head", 2},
         {"causal", 1},
         {"rope_theta", 10000},
         {"qk_norm", 0},
         {"dropout", 0},
         {"batch", 2},
         {"tokens", 3}},
        run_grouped_query_attention}},
      {"Llama",
       {{{"vocab_size", 5},
         {"n_layer", 2},
         {"n_head", 2},
         {"n_kv_head", 1},
         {"n_embd", 4},
         {"n_inner", 6},
         {"qk_norm", 0},
         {"tied", 1},
         {"dropout", 0},
         {"batch", 2},
         {"tokens", 3}},
        run_llama}},
      {"MLP",
       {{{"n_embd", 3}, {"hidden", 12}, {"bias", 1}, {"dropout", 0}, {"batch", 2}},
        [](const Settings& s, const GradcheckOptions& o) {
          Generator g(o.seed);
          return on_values(
              nn::MLP(s.whole("n_embd"), s.whole("hidden"), s.flag("bias"), s.real("dropout"), g),
              {s.whole("batch"), s.whole("n_embd")}, o);
        }}},
      {"MultiHeadAttention",
       {{{"n_embd", 4},
         {"n_head", 2},
         {"causal", 1},
         {"bias", 1},
         {"projection", 1},
         {"dropout", 0},
         {"batch", 2},
         {"tokens", 3}},
        run_attention}},
      {"SelfAttention",
       {{{"d_in", 3},
         {"d_out", 4},
         {"num_heads", 2},
         {"mask_weights", 0},
         {"finite_fill", 0},
         {"scaled", 1},
         {"safe", 0},
         {"projection", 0},
         {"bias", 0},
         {"dropout", 0},
         {"batch", 2},
         {"tokens", 3}},
        run_self_attention}},
      {"GPT",
       {{{"vocab_size", 5},
         {"n_layer", 2},
         {"n_head", 2},
         {"n_embd", 4},
         {"bias", 1},
         {"dropout", 0},
         {"batch", 2},
         {"tokens", 3}},
        run_gpt}},
  };
  return all;
}

}  // namespace

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : layers()) names.push_back(name);
  return names;
}

GradcheckReport check_layer(const std::vector<std::string>& spec, const GradcheckOptions& options) {
  check_choice("gradcheck", "--layer", spec.at(0), layer_names());
  const Layer& layer = layers().at(spec[0]);
  return layer.run(Settings(layer.defaults, spec), options);
}

std::string layer_help() {
  constexpr size_t name_width = 22, line_width = 96;
  std::string text;
  for (const auto& [name, layer] : layers()) {
    std::string line = "  " + name + std::string(name_width - name.size(), ' ');
    std::istringstream keys(Settings(layer.defaults, {name}).keys());
    for (std::string key; keys >> key; line += key + " ") {
      if (line.size() + key.size() <= line_width) continue;
      text += line + "\n";
      line = std::string(name_width + 2, ' ');
    }
    text += line + "\n";
  }
  return text;
}

GradcheckReport check_model(const std::string& folder, const GradcheckOptions& options) {
  const auto [model, tokenizer] = train::load_trained(folder);
  const train::TrainConfig trained = train::load_config(train::RunFolder(folder));
  const RunText text = load_text(trained, data::TextRules::of(tokenizer));
  const data::Tokens all = RunTokens(text, tokenizer, trained).all();
  const data::Tokens ids = all.part(0, std::min<int64_t>(all.size(), 4096));
  const int64_t tokens = std::min<int64_t>(model.config().block_size, 16);
  const data::TextDataset dataset(ids, tokens, 0.0);
  Generator generator(options.seed);
  const data::Batch batch = dataset.random_batch(data::Split::train, 2, generator);
  return loss_of(model, batch.x, batch.y, options);
}

}  // namespace gradus::cli

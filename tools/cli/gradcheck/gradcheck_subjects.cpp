#include "gradus/tools/cli/gradcheck/gradcheck_subjects.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/convolution.hpp"
#include "gradus/nn/gradcheck_module.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/recurrent.hpp"
#include "gradus/nn/self_attention.hpp"
#include "gradus/nn/transformer.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/train/run_text.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::cli {
namespace {

/// A number that converts to an int64_t, a double or a bool.
struct Value {
  double number;
  template <class T>
  requires std::is_arithmetic_v<T>
  operator T() const { return static_cast<T>(number); }
};

class Subject;
using S = Subject&;

/// A layer that can be checked.
struct Row {
  std::string_view name, defaults;  ///< defaults: KEY=VALUE, as the help shows them
  GradcheckReport (*check)(S s);
  const char* width = "n_embd";  ///< the key of the input's features
};

/// The settings of a layer, which are numbers: the defaults of its row, changed by --layer.
class Subject {
 public:
  Subject(const std::vector<std::string>& spec, const Row& row, const GradcheckOptions& gradcheck_options)
      : g(gradcheck_options.seed), options(gradcheck_options), width_(row.width) {
    std::istringstream pairs{std::string(row.defaults)};
    for (std::string pair; pairs >> pair;) set(pair.substr(0, pair.find(',')));
    for (auto pair = spec.begin() + 1; pair < spec.end(); ++pair) {
      if (pair->find('=') == std::string::npos || !values_.contains(pair->substr(0, pair->find('='))))
        fail("gradcheck", "--layer ", spec[0], " must be followed by KEY=VALUE with KEY of ", row.defaults,
             ", got '", *pair, "'.");
      set(*pair);
    }
  }

  Value operator[](const std::string& key) const { return {values_.at(key)}; }

  /// Checks layer(x) for x of shape (batch, [tokens,] width), or (batch, width, height, width) for images.
  /// Dropout draws the same mask in each call.
  template <class Layer>
  GradcheckReport operator()(const Layer& layer) const {
    const Subject& s = *this;
    Shape shape{s["batch"], s[width_]};
    if (values_.contains("tokens")) shape.insert(1, s["tokens"]);
    if (values_.contains("height")) shape = {s["batch"], s[width_], s["height"], s["width"]};
    Generator input = Generator(options.seed).stream("input");
    const auto call = [](const Layer& m, const std::vector<Tensor>& in) {
      Generator same(1);
      if constexpr (std::invocable<const Layer&, const Tensor&, Generator*>) {
        return m(in[0], &same);
      } else if constexpr (requires { m(in[0], {}, &same).output; }) {  // recurrent
        return m(in[0], {}, &same).output;
      } else if constexpr (requires { m(in[0], in[0], in[0], {}, &same).output; }) {  // attention
        return m(in[0], in[0], in[0], {}, &same).output;
      } else if constexpr (requires { m(in[0], in[0], {}, &same); }) {  // a decoder's layer
        return m(in[0], in[0], {}, &same);
      } else {
        return m(in[0]);
      }
    };
    return nn::gradcheck_module<Layer>(layer, {randn(shape, input, DType::float64)}, call, options);
  }

  Generator g;  ///< of the initial values
  const GradcheckOptions& options;

 private:
  void set(const std::string& pair) {
    const size_t equals = pair.find('=');
    const std::string text = pair.substr(equals + 1);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || end != text.c_str() + text.size())
      fail("gradcheck", "a value must be a number (1 and 0 for yes and no), got '", pair, "'.");
    values_[pair.substr(0, equals)] = value;
  }

  std::map<std::string, double> values_;
  std::string width_;  // a key
};

GradcheckReport loss_of(const models::Decoder& model, const Tensor& x, const Tensor& y,
                        const GradcheckOptions& options) {
  const auto loss = [x, y](const models::Decoder& m, const auto&) {
    Generator same(1);
    return m.loss(x, y, &same);
  };
  return nn::gradcheck_module<models::Decoder>(model, {}, loss, options);
}

GradcheckReport check_embedding(S s) {
  const nn::Embedding layer(s["num_embeddings"], s["embedding_dim"], s.g);
  const Tensor index = randint(0, s["num_embeddings"], {s["batch"], s["tokens"]}, s.g);
  const auto call = [index](const nn::Embedding& m, const auto&) { return m(index); };
  return nn::gradcheck_module<nn::Embedding>(layer, {}, call, s.options);
}

template <class Layer>
GradcheckReport check_recurrent(S s) {
  return s(Layer(s["input_size"], s["hidden_size"], s.g,
                 {.num_layers = s["num_layers"],
                  .bias = s["bias"],
                  .batch_first = true,
                  .dropout = s["dropout"],
                  .bidirectional = s["bidirectional"]}));
}

template <class Layer>
GradcheckReport check_transformer(S s) {
  return s(Layer(s["d_model"], s["nhead"], s.g,
                 {.dim_feedforward = s["dim_feedforward"],
                  .dropout = s["dropout"],
                  .activation = s["gelu"] ? nn::FeedForward::gelu : nn::FeedForward::relu,
                  .batch_first = true,
                  .norm_first = s["norm_first"]}));
}

GradcheckReport check_decoder(Subject& s, models::DecoderConfig config) {
  config.vocab_size = s["vocab_size"];
  config.block_size = s["tokens"];
  config.n_layer = s["n_layer"];
  config.n_head = s["n_head"];
  config.n_embd = s["n_embd"];
  config.dropout = s["dropout"];
  const models::Decoder model(config, s.g);
  const Shape shape{s["batch"], s["tokens"]};
  const Tensor x = randint(0, config.vocab_size, shape, s.g);
  return loss_of(model, x, randint(0, config.vocab_size, shape, s.g), s.options);
}

constexpr const char* kRecurrent =
    "batch=2, bias=1, bidirectional=0, dropout=0, hidden_size=2, input_size=3, num_layers=1, tokens=3";
constexpr const char* kTransformer =
    "batch=2, d_model=4, dim_feedforward=5, dropout=0, gelu=0, nhead=2, norm_first=0, tokens=3";

const Row kLayers[] = {
    {"BatchNorm2d", "affine=1, batch=2, eps=1e-05, height=2, num_features=3, width=3",
     [](S s) { return s(nn::BatchNorm2d(s["num_features"], {.eps = s["eps"], .affine = s["affine"]})); },
     "num_features"},
    {"Conv2d",
     "batch=2, bias=1, dilation=1, groups=1, height=4, in_channels=2, kernel_size=3, out_channels=3, "
     "padding=1, "
     "stride=1, width=3",
     [](S s) {
       return s(nn::Conv2d(s["in_channels"], s["out_channels"], int64_t{s["kernel_size"]}, s.g,
                           {.stride = int64_t{s["stride"]},
                            .padding = int64_t{s["padding"]},
                            .dilation = int64_t{s["dilation"]},
                            .groups = s["groups"],
                            .bias = s["bias"]}));
     },
     "in_channels"},
    {"CrossAttention", "batch=2, bias=1, dropout=0, embed_dim=4, num_heads=2, tokens=3",
     [](S s) {
       return s(nn::CrossAttention(s["embed_dim"], s["num_heads"], s.g,
                                   {.dropout = s["dropout"], .bias = s["bias"], .batch_first = true}));
     },
     "embed_dim"},
    {"Embedding", "batch=2, embedding_dim=3, num_embeddings=5, tokens=4", check_embedding},
    {"GPT", "batch=2, bias=1, dropout=0, n_embd=4, n_head=2, n_layer=2, tokens=3, vocab_size=5",
     [](S s) { return check_decoder(s, {.bias = s["bias"]}); }},
    {"GRU", kRecurrent, check_recurrent<nn::GRU>, "input_size"},
    {"GroupNorm", "affine=1, batch=2, eps=1e-05, height=2, num_channels=4, num_groups=2, width=3",
     [](S s) {
       return s(nn::GroupNorm(s["num_groups"], s["num_channels"], {.eps = s["eps"], .affine = s["affine"]}));
     },
     "num_channels"},
    {"GroupedQueryAttention",
     "batch=2, causal=1, dropout=0, n_embd=8, n_head=4, n_kv_head=2, qk_norm=0, rope_theta=10000, tokens=3",
     [](S s) {
       return s(nn::GroupedQueryAttention(s["n_embd"], s["n_head"], s["n_kv_head"], s.g,
                                          {.causal = s["causal"],
                                           .rope_theta = s["rope_theta"],
                                           .qk_norm = s["qk_norm"],
                                           .dropout = s["dropout"]}));
     }},
    {"LSTM", kRecurrent, check_recurrent<nn::LSTM>, "input_size"},
    {"LayerNorm", "batch=2, bias=1, eps=1e-05, features=4",
     [](S s) { return s(nn::LayerNorm(s["features"], {.eps = s["eps"], .bias = s["bias"]})); }, "features"},
    {"Linear", "batch=2, bias=1, in_features=3, out_features=4",
     [](S s) { return s(nn::Linear(s["in_features"], s["out_features"], s.g, {.bias = s["bias"]})); },
     "in_features"},
    {"Llama",
     "batch=2, dropout=0, n_embd=4, n_head=2, n_inner=6, n_kv_head=1, n_layer=2, qk_norm=0, tied=1, "
     "tokens=3, vocab_size=5",
     [](S s) {
       return check_decoder(s, {.arch = std::string(models::usual_arch()),
                                .bias = false,
                                .n_kv_head = s["n_kv_head"],
                                .n_inner = s["n_inner"],
                                .qk_norm = s["qk_norm"],
                                .tie_word_embeddings = s["tied"]});
     }},
    {"MLP", "batch=2, bias=1, dropout=0, hidden=12, n_embd=3",
     [](S s) {
       return s(nn::MLP(s["n_embd"], s["hidden"], s.g, {.bias = s["bias"], .dropout = s["dropout"]}));
     }},
    {"MultiHeadAttention", "batch=2, bias=1, causal=1, dropout=0, n_embd=4, n_head=2, projection=1, tokens=3",
     [](S s) {
       return s(nn::MultiHeadAttention(s["n_embd"], s["n_head"], s.g,
                                       {.causal = s["causal"],
                                        .bias = s["bias"],
                                        .projection = s["projection"],
                                        .projection_bias = s["bias"],
                                        .dropout = s["dropout"]}));
     }},
    {"RMSNorm", "batch=2, eps=1e-05, features=4",
     [](S s) { return s(nn::RMSNorm(s["features"], {.eps = s["eps"]})); }, "features"},
    {"RNN", kRecurrent, check_recurrent<nn::RNN>, "input_size"},
    {"SelfAttention",
     "batch=2, bias=0, d_in=3, d_out=4, dropout=0, finite_fill=0, mask_weights=0, num_heads=2, projection=0, "
     "safe=0, scaled=1, tokens=3",
     [](S s) {
       return s(nn::SelfAttention(s["d_in"], s["d_out"], s.g,
                                  {.mask_on = s["mask_weights"] ? nn::MaskOn::weights : nn::MaskOn::scores,
                                   .fill = s["finite_fill"] ? -1e9 : -std::numeric_limits<double>::infinity(),
                                   .scaled = s["scaled"],
                                   .safe = s["safe"],
                                   .dropout = s["dropout"],
                                   .num_heads = s["num_heads"],
                                   .projection = s["projection"],
                                   .bias = s["bias"]}));
     },
     "d_in"},
    {"SwiGLU", "batch=2, dropout=0, hidden=8, n_embd=3",
     [](S s) { return s(nn::SwiGLU(s["n_embd"], s["hidden"], s.g, {.dropout = s["dropout"]})); }},
    {"TransformerDecoderLayer", kTransformer, check_transformer<nn::TransformerDecoderLayer>, "d_model"},
    {"TransformerEncoderLayer", kTransformer, check_transformer<nn::TransformerEncoderLayer>, "d_model"},
};

}  // namespace

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const Row& row : kLayers) names.emplace_back(row.name);
  return names;
}

GradcheckReport check_layer(const std::vector<std::string>& spec, const GradcheckOptions& options) {
  check_choice("gradcheck", "--layer", spec.at(0), layer_names());
  const Row& row = *std::ranges::find(kLayers, spec[0], &Row::name);
  Subject subject(spec, row, options);
  return row.check(subject);
}

std::string layer_help() {
  constexpr size_t name_width = 24, line_width = 96;
  std::string text;
  for (const auto& [name, defaults, check, width] : kLayers) {
    std::string line = concat("  ", name, std::string(name_width - name.size(), ' '));
    std::istringstream pairs{std::string(defaults)};
    for (std::string pair; pairs >> pair; line += pair + " ") {
      if (line.size() + pair.size() <= line_width) continue;
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

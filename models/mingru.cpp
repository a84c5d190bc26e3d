// A decoder without attention: Llama's block with minGRU (Feng et al., arXiv 2410.01201, section 3.1) instead
// of attention. Its decoding state has a fixed size, so that a text may have any length.
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/block_decoder.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::models {
namespace {

/// The last output of each block's minGRU.
struct MinGRUState final : DecodingState {
  std::vector<Tensor> hidden;  // (B, C) each

  void truncate(int64_t end) override {
    if (end >= length) return;
    if (end > 0) fail("decoder", "a recurrent state must be cut at 0 or not at all, got ", end, ".");
    for (Tensor& h : hidden) h.fill_(0.0);
    length = 0;
  }
};

class MinGRUBlock : public nn::Module {
 public:
  MinGRUBlock(const DecoderConfig& config, Generator& init)
      : input_layernorm(config.n_embd, {.eps = config.norm_eps}),
        min_gru(config.n_embd, config.n_embd, init),
        drop(config.dropout),
        post_layernorm(config.n_embd, {.eps = config.norm_eps}),
        mlp(config.n_embd, config.inner(), init, {.dropout = config.dropout}) {}

  Tensor operator()(const Tensor& x, Generator* dropout, const Tensor& /*starts*/) const {
    return residual_block(
        *this, x, [&](const Tensor& r) { return drop(min_gru(input_layernorm(r), {}, dropout), dropout); },
        [&](const Tensor& r) { return mlp(post_layernorm(r), dropout); });
  }
  /// Updates `hidden`, the minGRU's state.
  Tensor decode(const Tensor& x, Tensor& hidden) const {
    return residual_block(
        *this, x,
        [&](const Tensor& r) {
          const Tensor h = min_gru(input_layernorm(r), hidden);
          hidden.copy_(h.select(1, -1));
          return h;
        },
        [&](const Tensor& r) { return mlp.without_dropout(post_layernorm(r)); });
  }
  void visit(nn::Visitor& v) override {
    v("input_layernorm", input_layernorm)("min_gru", min_gru)("drop", drop);
    v("post_layernorm", post_layernorm)("mlp", mlp);
  }

  nn::RMSNorm input_layernorm;
  nn::MinGRU min_gru;
  nn::Dropout drop;
  nn::RMSNorm post_layernorm;
  nn::SwiGLU mlp;
};

class MinGRUDecoder final : public BlockDecoder<MinGRUBlock> {
 public:
  MinGRUDecoder(const DecoderConfig& config, Generator& init)
      : BlockDecoder(config, init, nn::RMSNorm(config.n_embd, {.eps = config.norm_eps})) {
    add_blocks(config, init, [&](int64_t) { return MinGRUBlock(config, init); });
  }

  Tensor features(const Tensor& idx, Generator* dropout, const Tensor& starts) const override {
    return through_blocks(embed_tokens(idx), dropout, starts);
  }
  std::unique_ptr<DecodingState> make_state(int64_t batch) const override {
    auto state = std::make_unique<MinGRUState>();
    const Tensor& like = norm.weight;  // float32, or float64
    for (size_t i = 0; i < layers.size(); ++i)
      state->hidden.push_back(zeros({batch, like.size(0)}, like.dtype()));
    return state;
  }
  Tensor next_features(const Tensor& idx, DecodingState& state) const override {
    Tensor x = embed_tokens(idx);
    auto& hidden = dynamic_cast<MinGRUState&>(state).hidden;
    for (size_t i = 0; i < layers.size(); ++i) x = layers[i].decode(x, hidden[i]);
    return x;
  }
  std::unique_ptr<Backbone> clone() const override { return std::make_unique<MinGRUDecoder>(*this); }
};

void check_mingru(const DecoderConfig& c) {
  const DecoderConfig usual;
  const auto expect_value = [](const char* field, auto value, auto expected) {
    if (value != expected)
      fail("decoder", Option{field}, " must be ", expected, " with ", Option{"arch"}, " mingru, got ", value,
           ".");
  };
  expect_value("n_head", c.n_head, 1);
  expect_value("n_kv_head", c.n_kv_head, usual.n_kv_head);
  expect_value("rope_theta", c.rope_theta, usual.rope_theta);
  check_usual_attention(c);
  if (c.qk_norm)
    fail("decoder", Option{"qk_norm"}, " must be false with ", Option{"arch"},
         " mingru, which has no queries, got true.");
  if (c.bias)
    fail("decoder", Option{"bias"}, " must be false with ", Option{"arch"},
         " mingru, which always has its biases, got true.");
}

// A block saves inputs and outputs of both norms (4 C), the gate and its intermediate values (3 C), the
// candidate, its product with the gate, and the states; its MLP saves the same as Llama's.
DecoderCost mingru_cost(const DecoderConfig& config, DType products) {
  const auto C = static_cast<double>(config.n_embd), inner = static_cast<double>(config.inner());
  const bool rounded = products == DType::bfloat16;
  return {.saved = 10 * C + (rounded ? 2.5 : 3) * inner,
          .gradients = 3 * inner + (rounded ? inner + C : 0),
          .decoding = 8 * C + 3 * inner,
          .state = C * static_cast<double>(config.n_layer)};
}

}  // namespace

const Architecture& mingru() {
  static const Architecture row{
      .name = "mingru",
      .parts = "minGRU instead of attention, no context limit",
      .positions = Positions::recurrent,
      .presets = {{"gru",
                   "minutes, without attention",
                   {.arch = "mingru", .block_size = 128, .n_head = 1, .bias = false},
                   0}},
      .make = make_unique_backbone<MinGRUDecoder>,
      .inner = swiglu_inner,
      .check = check_mingru,
      .cost = mingru_cost,
      .describe = describe_with_inner,
      .names = {{".h.", ".model.layers."},
                {".wte.", ".model.embed_tokens."},
                {".ln_f.", ".model.norm."},
                {".ln_1.", ".input_layernorm."},
                {".ln_2.", ".post_layernorm."},
                {".attn.", ".min_gru."}}};
  return row;
}

}  // namespace gradus::models

// GPT-2 (Radford et al., 2019): learned positions, LayerNorm, gelu in its tanh form, with or without biases.
// Parameters have the names of GPT-2's files.
#include <ios>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/block_decoder.hpp"
#include "gradus/models/key_value_state.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::models {
namespace {

class GPT2Block : public nn::Module {
 public:
  GPT2Block(const DecoderConfig& config, Generator& init)
      : ln_1(config.n_embd, {.eps = config.norm_eps, .bias = config.bias}),
        attn(config.n_embd, config.n_head, init,
             {.bias = config.bias, .projection_bias = config.bias, .dropout = config.dropout}),
        ln_2(config.n_embd, {.eps = config.norm_eps, .bias = config.bias}),
        mlp(config.n_embd, config.inner(), init, {.bias = config.bias, .dropout = config.dropout}) {}

  Tensor operator()(const Tensor& x, Generator* dropout, const Tensor& starts) const {
    return residual_block(
        *this, x, [&](const Tensor& r) { return attn(ln_1(r), dropout, starts); },
        [&](const Tensor& r) { return mlp(ln_2(r), dropout); });
  }
  Tensor decode(const Tensor& x, nn::KVCache& cache) const {
    return residual_block(
        *this, x, [&](const Tensor& r) { return attn.decode(ln_1(r), cache); },
        [&](const Tensor& r) { return mlp.without_dropout(ln_2(r)); });
  }
  void visit(nn::Visitor& v) override { v("ln_1", ln_1)("attn", attn)("ln_2", ln_2)("mlp", mlp); }

  nn::LayerNorm ln_1;
  nn::MultiHeadAttention attn;
  nn::LayerNorm ln_2;
  nn::MLP mlp;
};

class GPT2 final : public BlockDecoder<GPT2Block, nn::LayerNorm> {
 public:
  GPT2(const DecoderConfig& config, Generator& init)
      : BlockDecoder(config, init,
                     nn::LayerNorm(config.n_embd, {.eps = config.norm_eps, .bias = config.bias})),
        wpe(config.block_size, config.n_embd, init) {
    add_blocks(config, init, [&](int64_t) { return GPT2Block(config, init); });
  }

  Tensor features(const Tensor& idx, Generator* dropout, const Tensor& starts) const override {
    const Tensor embedded =
        starts.defined() ? embed_tokens(idx) + wpe(arange(0, static_cast<double>(idx.size(1))) - starts)
                         : embed(idx, 0);
    return through_blocks(embedded, dropout, starts);
  }
  std::unique_ptr<DecodingState> make_state(int64_t batch) const override {
    return make_key_value_state(layers, batch, wpe.weight.size(0));
  }
  Tensor next_features(const Tensor& idx, DecodingState& state) const override {
    return decode_blocks(layers, embed(idx, state.length), state);
  }
  std::unique_ptr<Backbone> clone() const override { return std::make_unique<GPT2>(*this); }
  void visit(nn::Visitor& v) override {
    v("wte", embed_tokens)("wpe", wpe)("drop", drop)("h", layers)("ln_f", norm);
    v("lm_head", lm_head, nn::Role::head);
  }

  nn::Embedding wpe;  ///< positions, (block_size, C)

 private:
  /// At positions start, start + 1, ...: (B, T) -> (B, T, C).
  Tensor embed(const Tensor& idx, int64_t start) const {
    const int64_t end = start + idx.size(1);
    const Tensor positions = is_storage(wpe.weight.dtype())
                                 ? wpe(arange(static_cast<double>(start), static_cast<double>(end)))
                                 : wpe.weight.slice(0, start, end);  // (T, C)
    return embed_tokens(idx) + positions;
  }
};

// Options of other architectures are refused, not ignored.
void check_gpt2(const DecoderConfig& c) {
  const DecoderConfig usual;
  const auto expect_usual = [&](const char* field, auto value, auto expected) {
    if (value != expected)
      fail("decoder", Option{field}, " must be left out with ", Option{"arch"}, " gpt2, got ", std::boolalpha,
           value, ".");
  };
  expect_usual("n_kv_head", c.n_kv_head, usual.n_kv_head);
  expect_usual("n_inner", c.n_inner, usual.n_inner);
  expect_usual("rope_theta", c.rope_theta, usual.rope_theta);
  expect_usual("qk_norm", c.qk_norm, usual.qk_norm);
  check_usual_attention(c);
}

// The MLP saves the input and the output of gelu, the latter rounded in bfloat16.
DecoderCost gpt2_cost(const DecoderConfig& config, DType products) {
  const auto C = static_cast<double>(config.n_embd), inner = static_cast<double>(config.inner());
  const bool rounded = products == DType::bfloat16;
  DecoderCost cost = attention_cost(config);
  cost.saved += (rounded ? 1.5 : 2) * inner;
  // Gradients; in bfloat16 each is also packed in two forms of 2 bytes.
  cost.gradients = 2 * inner + (rounded ? inner + 4 * C : 0);
  cost.decoding += 2 * inner;
  return cost;
}

std::string describe_gpt2(const DecoderConfig& config) {
  return concat(config.bias ? "with biases" : "without biases", config.tie_word_embeddings ? "" : ", untied");
}

}  // namespace

const Architecture& gpt2() {
  static const Architecture row{
      .name = "gpt2",
      .parts = "learned positions, LayerNorm, gelu",
      .positions = Positions::learned,
      .has_bias = true,
      .presets = {{"tiny", "seconds", {.block_size = 32, .n_layer = 2, .n_head = 2, .n_embd = 32}},
                  {"nano",
                   "minutes, as in nanoGPT",
                   {.block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128},
                   0},
                  {"small",
                   "hours",
                   {.block_size = 256, .n_layer = 6, .n_head = 6, .n_embd = 384, .dropout = 0.2},
                   12e6},
                  {"gpt2",
                   "months; the shape of GPT-2",
                   {.block_size = 1024, .n_layer = 12, .n_head = 12, .n_embd = 768}}},
      .make = make_unique_backbone<GPT2>,
      .inner = [](int64_t n_embd) { return 4 * n_embd; },
      .check = check_gpt2,
      .cost = gpt2_cost,
      .describe = describe_gpt2};
  return row;
}

}  // namespace gradus::models

#include "autograd/compare.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/safetensors.hpp"
#include "test_files.hpp"

namespace gradus::nn::test_lora {

using namespace testing;

/// Gives all factors values, as B starts at 0.
template <class M>
M with_adapters(M module, const LoRAOptions& options, Generator& g) {
  module.to(DType::float64);
  add_lora(module, options, g);
  for (const auto& [name, layer] : linear_layers(module))
    if (layer->lora) layer->lora->B.detach().copy_(randn(layer->lora->B.shape(), g, DType::float64));
  return module;
}

TEST_CASE("the gradients of a low-rank adapter are PyTorch's") {
  const nn::StateDict golden =
      nn::load_safetensors(testing::test_files() / "nn/golden/lora.safetensors", /*keep_float64=*/true);
  Generator g(1);
  Linear layer(5, 4, g);
  layer.to(DType::float64);
  CHECK(add_lora(layer, {.rank = 2, .alpha = 3}, g) == std::vector<std::string>{""});
  layer.weight.copy_(golden.at("weight"));
  layer.bias.copy_(golden.at("bias"));
  layer.lora->A.detach().copy_(golden.at("A"));
  layer.lora->B.detach().copy_(golden.at("B"));
  Tensor x = golden.at("x");
  x.requires_grad_();
  const Tensor error = layer(x) - golden.at("target"), loss = mean(error * error);
  CHECK(std::abs(loss.item() - golden.at("loss").item()) < 1e-12);
  loss.backward();
  CHECK(difference(x.grad(), golden.at("grad_x"), 1e-12) == "");
  CHECK(difference(layer.lora->A.grad(), golden.at("grad_A"), 1e-12) == "");
  CHECK(difference(layer.lora->B.grad(), golden.at("grad_B"), 1e-12) == "");
  CHECK_FALSE(layer.weight.requires_grad());
  CHECK_FALSE(layer.weight.grad().defined());
}

TEST_CASE("a layer with an adapter equals one whose weight has the update, on every path") {
  Generator g(3);
  const LoRAOptions options{.rank = 2, .alpha = 5};
  const Tensor x = randn({2, 3, 8}, g, DType::float64);
  const auto check = [&](auto module, const auto& call) {
    auto adapted = with_adapters(std::move(module), options, g);
    const Tensor before = call(adapted), base = [&] {
      auto bare = adapted;
      for (const auto& [name, layer] : linear_layers(bare)) layer->lora.reset();
      return call(bare);
    }();
    CHECK(difference(before, base) != "");
    merge_lora(adapted);
    for (const auto& [name, layer] : linear_layers(adapted)) CHECK_FALSE(layer->lora);
    CHECK(difference(call(adapted), before, 1e-12) == "");
  };
  const auto plain = [&](const auto& module) { return module(x); };
  const auto decoded = [&](const auto& module) {
    KVCache cache = module.make_cache(2, 3);
    return module.decode(x, cache);
  };
  check(MLP(8, 6, g), plain);
  check(MLP(8, 6, g), [&](const auto& module) { return module.without_dropout(x); });
  check(SwiGLU(8, 6, g), plain);
  check(MultiHeadAttention(8, 2, g), plain);
  check(MultiHeadAttention(8, 2, g), decoded);
  check(GroupedQueryAttention(8, 2, 1, g), plain);
  check(GroupedQueryAttention(8, 2, 1, g), decoded);
  check(MinGRU(8, 4, g), plain);
}

TEST_CASE("an adapter changes nothing at first, and drops its inputs in training") {
  Generator g(4);
  MLP mlp(8, 6, g);
  const Tensor x = randn({5, 8}, g), before = mlp(x);
  CHECK(add_lora(mlp, {.rank = 3, .dropout = 0.5, .on = {"c_proj"}}, g) ==
        std::vector<std::string>{"c_proj"});
  CHECK(difference(mlp(x), before, 0) == "");
  std::vector<std::string> names;
  for (const auto& [name, parameter] : mlp.named_parameters())
    if (parameter.requires_grad()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"c_proj.lora_A.weight", "c_proj.lora_B.weight"});
  CHECK(mlp.c_proj.lora->scale == 16.0 / 3.0);
  mlp.c_proj.lora->B.detach().copy_(ones({8, 3}));
  CHECK(difference(mlp(x, &g), mlp(x)) != "");
  // Of the same draws, the adapter's part is scale * dropout(h) A^T B^T.
  const LoRA& lora = *mlp.c_proj.lora;
  const Tensor h = randn({5, 6}, g);
  Generator draws(7), same(7);
  const Tensor down = matmul(gradus::dropout(h, 0.5, same), lora.A.mT());
  CHECK(difference(lora(h, &draws), matmul(down, lora.B.mT()) * lora.scale, 1e-5) == "");
  mlp.eval();
  CHECK(difference(mlp(x, &g), mlp(x), 0) == "");
}

TEST_CASE("dropout reaches the adapters of a minGRU") {
  Generator g(4);
  MinGRU gru(8, 6, g);
  add_lora(gru, {.rank = 2, .dropout = 0.5, .on = {"linear_z", "linear_h"}}, g);
  gru.linear_h.lora->B.detach().copy_(ones({6, 2}));
  const Tensor x = randn({1, 3, 8}, g);
  CHECK(difference(gru(x, {}, &g), gru(x)) != "");
}

TEST_CASE("a pattern is of whole parts of a name") {
  for (const char* name : {"c_proj", "mlp.c_proj", "h.0.mlp.c_proj"}) CHECK(is_lora_on("c_proj", name));
  for (const char* name : {"my_c_proj", "h.0.my_c_proj", "c_proj.weight"})
    CHECK_FALSE(is_lora_on("c_proj", name));
  CHECK(is_lora_on("mlp.*", "h.0.mlp.c_proj"));
  CHECK_FALSE(is_lora_on("0.mlp.c_proj", "h.10.mlp.c_proj"));
}

TEST_CASE("add_lora refuses") {
  Generator g(5);
  MLP mlp(8, 6, g);
  CHECK_THROWS_WITH(add_lora(mlp, {.rank = 0}, g), "[lora] rank must be at least 1, got 0.");
  CHECK_THROWS_WITH(add_lora(mlp, {.alpha = 0}, g), "[lora] alpha must be a finite number above 0, got 0.");
  CHECK_THROWS_WITH(add_lora(mlp, {.dropout = 1}, g), "[lora] dropout must be in [0, 1), got 1.");
  CHECK_THROWS_WITH(
      add_lora(mlp, {.on = {"q_proj"}}, g),
      "[lora] a pattern must match the name of a linear layer, got 'q_proj'. Hint: the first is c_fc; * is "
      "any text.");
  for (const Tensor& parameter : mlp.parameters()) CHECK(parameter.requires_grad());
  add_lora(mlp, {}, g);
  CHECK_THROWS_WITH(add_lora(mlp, {}, g), "[lora] c_fc must have no adapter, got one.");
  mlp.to(DType::bfloat16);
  CHECK_THROWS_WITH(merge_lora(mlp),
                    "[lora] c_fc.weight must be float32 or float64 to be merged, got bfloat16.");
}

}  // namespace gradus::nn::test_lora

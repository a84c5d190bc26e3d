// Training of adapters: 20 steps of AdamW against PyTorch, and what frozen parameters cost.

#include "autograd/compare.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/weight_average.hpp"
#include "test_files.hpp"

namespace gradus::test_lora {

using namespace testing;

TEST_CASE("20 steps of AdamW on an adapter are PyTorch's") {
  const nn::StateDict golden =
      nn::load_safetensors(testing::test_files() / "nn/golden/lora.safetensors", /*keep_float64=*/true);
  Generator g(1);
  nn::Linear layer(5, 4, g);
  layer.to(DType::float64);
  nn::add_lora(layer, {.rank = 2, .alpha = 3}, g);
  layer.weight.copy_(golden.at("weight"));
  layer.bias.copy_(golden.at("bias"));
  layer.lora->A.detach().copy_(golden.at("A"));
  layer.lora->B.detach().copy_(golden.at("B"));
  const Tensor x = golden.at("x"), target = golden.at("target");
  const auto loss = [&] {
    const Tensor error = layer(x) - target;
    return mean(error * error);
  };
  train::AdamW adamw(layer.named_parameters(), {.beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1});
  for (int step = 0; step < 20; ++step) {
    adamw.zero_grad();
    loss().backward();
    adamw.step(0.05);
  }
  CHECK(difference(layer.lora->A.detach(), golden.at("A_20"), 1e-12) == "");
  CHECK(difference(layer.lora->B.detach(), golden.at("B_20"), 1e-12) == "");
  CHECK(std::abs(loss().item() - golden.at("loss_20").item()) < 1e-12);
  CHECK(difference(layer.weight, golden.at("weight"), 0) == "");
}

TEST_CASE("frozen parameters have no moments and no average") {
  Generator g(2);
  nn::MLP mlp(4, 6, g);
  nn::add_lora(mlp, {.rank = 2, .on = {"c_fc"}}, g);
  mlp.c_proj.weight = mlp.c_proj.weight.detach().to(DType::bfloat16);
  const train::AdamW adamw(mlp.named_parameters());
  CHECK(adamw.state_dict().size() == 5);  // two moments of two factors, and the steps
  train::WeightAverage average(mlp.named_parameters(), 0.9);
  CHECK(average.state_dict().size() == 3);
  average.update();
  average.swap();
}

}  // namespace gradus::test_lora

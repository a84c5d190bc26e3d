// Ten steps of AdamW on decoders of Llama's shape, against PyTorch's: tests/models/make_llama_golden.py.
#include <cmath>
#include <filesystem>

#include "catch.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/adamw.hpp"
#include "test_files.hpp"

using namespace gradus;

TEST_CASE("ten steps of AdamW on a Llama and a Qwen3 end where PyTorch's end") {
  const std::string kind = GENERATE("llama", "qwen3");
  const std::filesystem::path folder = testing::test_files() / "models/golden" / kind;
  const nn::StateDict expected = nn::load_safetensors(folder / "expected.safetensors", /*keep_float64=*/true);
  models::GPT model = models::load_pretrained(folder);
  model.to(DType::float64);
  train::AdamW optimizer(model.named_parameters(), {.beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1});

  const int64_t steps = expected.at("steps.loss").size(0);
  REQUIRE(steps == 10);
  for (int64_t i = 0; i < steps; ++i) {
    const Tensor loss =
        model.loss(expected.at("steps.idx").select(0, i), expected.at("steps.targets").select(0, i));
    INFO(kind << ", step " << i << ": " << loss.item());
    CHECK(std::abs(loss.item() - expected.at("steps.loss").at({i})) <= 1e-10);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step(/*lr=*/1e-2);
  }
  for (const auto& [name, parameter] : model.named_parameters()) {
    INFO(kind << ", " << name);
    CHECK(amax(abs(parameter.detach() - expected.at("after." + name))).item() <= 1e-10);
  }
}

// Twenty steps of each optimizer on Llama's shape, against PyTorch's: tests/models/make_llama_golden.py.
#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/optimizers/muon.hpp"
#include "gradus/train/optimizers/sgd.hpp"
#include "test_files.hpp"

namespace gradus::test_llama_golden {

std::unique_ptr<train::Optimizer> make_optimizer(const std::string& name, train::NamedParameters parameters) {
  const train::AdamWOptions adamw{.beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1};
  if (name == "adamw") return std::make_unique<train::AdamW>(std::move(parameters), adamw);
  if (name == "muon")
    return std::make_unique<train::Muon>(std::move(parameters), train::MuonOptions{.adamw = adamw});
  return std::make_unique<train::SGD>(
      std::move(parameters), train::SGDOptions{.momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
}

TEST_CASE("twenty steps of each optimizer on decoders of Llama's shape end where PyTorch's end") {
  const std::string kind = GENERATE("llama", "qwen3", "llama3", "yarn", "qwen2", "mistral", "gemma3"),
                    rule = GENERATE("adamw", "muon", "sgd");
  const std::filesystem::path folder = testing::test_files() / "models/golden" / kind;
  const nn::StateDict expected = nn::load_safetensors(folder / "expected.safetensors", /*keep_float64=*/true);
  if (!expected.contains(rule + ".loss")) {  // the first two have all
    SUCCEED();
    return;
  }
  models::Decoder model = models::load_pretrained(folder);
  model.to(DType::float64);
  const auto optimizer = make_optimizer(rule, model.named_parameters());

  const Tensor& losses = expected.at(rule + ".loss");
  const int64_t steps = losses.size(0);
  REQUIRE(steps == 20);
  for (int64_t i = 0; i < steps; ++i) {
    const Tensor loss =
        model.loss(expected.at("steps.idx").select(0, i), expected.at("steps.targets").select(0, i));
    INFO(kind << ", " << rule << ", step " << i << ": " << loss.item());
    CHECK(std::abs(loss.item() - losses.at({i})) <= 1e-10);
    optimizer->zero_grad();
    loss.backward();
    optimizer->step(/*lr=*/1e-2);
  }
  for (const auto& [name, parameter] : model.named_parameters()) {
    INFO(kind << ", " << rule << ", " << name);
    CHECK(amax(abs(parameter.detach() - expected.at(rule + ".after." + name))).item() <= 1e-10);
  }
}

}  // namespace gradus::test_llama_golden

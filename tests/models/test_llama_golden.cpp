// Compares decoders of Llama's shape with PyTorch's numbers; make_llama_golden.py wrote them.
#include "autograd/compare.hpp"
#include "gradus/models/config_json.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "test_files.hpp"

namespace gradus::test_llama_golden {

/// Largest difference, as a fraction of the largest expected value; infinite if a number is not finite.
double error_of_largest(const Tensor& actual, const Tensor& expected) {
  REQUIRE(actual.shape() == expected.shape());
  const double error =
      amax(abs(actual.detach().to(DType::float64) - expected)).item() / amax(abs(expected)).item();
  return std::isfinite(error) ? error : INFINITY;
}

TEST_CASE("logits, loss and every gradient of decoders of Llama's shape are PyTorch's, cached too") {
  const std::string kind = GENERATE("llama", "qwen3", "llama3", "yarn", "qwen2", "mistral", "gemma3");
  const auto [dtype, tolerance] = GENERATE(std::pair(DType::float32, 2e-5), std::pair(DType::float64, 1e-12));
  INFO(kind << " in " << name(dtype));
  const std::filesystem::path folder = testing::test_files() / "models/golden" / kind;
  const nn::StateDict expected = nn::load_safetensors(folder / "expected.safetensors", /*keep_float64=*/true);
  models::Decoder model = models::load_pretrained(folder);
  model.to(dtype);

  const Tensor &idx = expected.at("idx"), &logits = expected.at("logits");
  CHECK(error_of_largest(model(idx), logits) < tolerance);
  const Tensor loss = model.loss(idx, expected.at("targets"));
  CHECK(error_of_largest(loss, expected.at("loss")) < tolerance);
  loss.backward();
  size_t parameters = 0;
  for (const auto& [name, parameter] : model.named_parameters()) {
    INFO(name);
    CHECK(error_of_largest(parameter.grad(), expected.at("grad." + name)) < tolerance);
    ++parameters;
  }
  const size_t optimizers = kind == "llama" || kind == "qwen3" ? 3 : 1;
  CHECK(expected.size() == 6 + parameters + optimizers * (1 + parameters));

  const auto state = model.make_state(idx.size(0));
  for (int64_t t = 0; t < idx.size(1); ++t) {
    INFO("position " << t);
    CHECK(error_of_largest(model.decode(idx.slice(1, t, t + 1), *state), logits.select(1, t)) < tolerance);
  }
}

TEST_CASE("a config with another attention survives saving and loading") {
  const std::string kind = GENERATE("llama3", "yarn", "qwen2", "mistral", "gemma3");
  const std::filesystem::path folder = testing::test_files() / "models/golden" / kind;
  const models::DecoderConfig config = models::load_config(folder);
  CHECK(config.attention != models::AttentionVariant());
  CHECK(models::config_from_json(models::to_json(config), "config.json") == config);
}

}  // namespace gradus::test_llama_golden

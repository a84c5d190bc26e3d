// Compares the decoder with PyTorch's numbers; make_gpt2_golden.py wrote them.
#include "autograd/compare.hpp"
#include "gradus/models/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "test_files.hpp"

namespace gradus::test_golden {

const std::filesystem::path kGolden = testing::test_files() / "models/golden";

/// Largest difference, as a fraction of the largest expected value; infinite if a number is not finite.
double relative_error(const Tensor& actual, const Tensor& expected) {
  REQUIRE(actual.shape() == expected.shape());
  const double error =
      amax(abs(actual.detach().to(DType::float64) - expected)).item() / amax(abs(expected)).item();
  return std::isfinite(error) ? error : INFINITY;
}

TEST_CASE("logits, loss and every gradient are PyTorch's") {
  const auto [dtype, tolerance] = GENERATE(std::pair(DType::float32, 1e-5), std::pair(DType::float64, 1e-12));
  const nn::StateDict expected =
      nn::load_safetensors(kGolden / "expected.safetensors", /*keep_float64=*/true);
  models::Decoder model = models::load_pretrained(kGolden / "model");
  model.eval();
  model.to(dtype);

  const Tensor& idx = expected.at("idx");
  CHECK(relative_error(model(idx), expected.at("logits")) < tolerance);
  const Tensor loss = model.loss(idx, expected.at("targets"));
  CHECK(relative_error(loss, expected.at("loss")) < tolerance);
  loss.backward();
  const auto parameters = model.named_parameters();
  CHECK(parameters.size() + 4 == expected.size());
  for (const auto& [name, parameter] : parameters) {
    INFO(name);
    CHECK(relative_error(parameter.grad(), expected.at("grad." + name)) < tolerance);
  }
}

}  // namespace gradus::test_golden

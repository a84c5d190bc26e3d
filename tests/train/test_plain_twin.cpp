// Training with the fast kernels against the same training by the definitions of operations.
#include "autograd/kernels/vectors.hpp"
#include "small_model.hpp"

namespace gradus::train::test_plain_twin {

std::vector<double> losses(const models::DecoderConfig& shape, std::string_view level) {
  const vectors::AtLevel at(level);
  TrainConfig config = small_config();
  config.model = shape;
  config.steps = 50;
  SmallRun run(config);
  std::vector<double> all;
  for (int i = 0; i < 50; ++i) all.push_back(run.trainer.step().loss);
  return all;
}

void check_same_curve(const models::DecoderConfig& shape) {
  const std::vector<double> fast = losses(shape, kernels::isa_name(kernels::isa_in_use())),
                            plain = losses(shape, "reference");
  for (size_t i = 0; i < plain.size(); ++i) {
    INFO("step " << i + 1 << ": " << fast[i] << ", by definition " << plain[i]);
    REQUIRE(std::abs(fast[i] - plain[i]) <= 1e-5 * plain[i]);
  }
  CHECK(plain.back() < 0.9 * plain.front());  // it did learn, so the curves had room to part
  CHECK(plain != fast);
}

TEST_CASE("50 steps have the losses that the definitions give, to 1e-5") {
  check_same_curve({.block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 32});
}

TEST_CASE("so do they at sizes that fill no vector and no tile") {
  check_same_curve({.block_size = 17, .n_layer = 1, .n_head = 3, .n_embd = 21});
  check_same_curve({.block_size = 65, .n_layer = 1, .n_head = 1, .n_embd = 33});
}

}  // namespace gradus::train::test_plain_twin

#include "gradus/nn/layers.hpp"

#include "autograd/compare.hpp"

namespace gradus::nn::test_swiglu {

using namespace testing;

TEST_CASE("SwiGLU is down(silu(gate) * up), without biases") {
  Generator g(1);
  SwiGLU m(6, 10, g, {.dropout = 0.5});
  CHECK(m.num_parameters() == 3 * 60);
  m.to(DType::float64);
  const Tensor x = randn({2, 3, 6}, g, DType::float64);
  const Tensor gate = matmul(x, m.gate_proj.weight.mT()), up = matmul(x, m.up_proj.weight.mT());
  const Tensor expected = matmul(gate / (1.0 + exp(neg(gate))) * up, m.down_proj.weight.mT());
  CHECK(difference(m.without_dropout(x), expected) == "");
  CHECK(difference(m(x, &g), expected) != "");
  m.eval();
  CHECK(difference(m(x), expected) == "");
}

}  // namespace gradus::nn::test_swiglu

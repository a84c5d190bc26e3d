// check_module passes sound models.
#include "catch.hpp"
#include "gradus/nn/containers.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/sequential.hpp"
#include "nn/check_models.hpp"

namespace gradus::test_check_module_sound {

using namespace gradus::testing;

/// A frozen Linear and a product of two thin matrices, one of which starts at 0 (Hu et al., 2106.09685).
struct LowRank : Module {
  LowRank() {
    base.weight.requires_grad_(false);
    base.bias.requires_grad_(false);
  }
  void visit(Visitor& v) override { v("base", base)("a", a)("b", b)("drop", drop); }
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const {
    return base(x) + linear(linear(drop(x, dropout), a), b);
  }
  Generator g{3};
  Linear base{kC, 3, g};
  Tensor a = weight({4, kC}, 0.5), b = weight({3, 4}, 0.0);
  Dropout drop{0.1};
};

template <class M, class F>
void check_sound(M model, const CheckBatch& batch, F loss, const ModuleCheckOptions& options = {}) {
  CHECK(check_module(model, batch, loss, options));
}

TEST_CASE("sound models pass") {
  Generator g(1);
  check_sound(Linear(kC, 3, g), regression(), squares);
  check_sound(Sequential{Linear(kC, 32, g), relu, Dropout(0.2), Linear(32, kV, g)}, labelled(), classes);
  check_sound(Sequential{Linear(kC, 32, g), LayerNorm(32), gradus::tanh, Linear(32, 3, g)}, regression(),
              squares);
  check_sound(Decoder(Decoder::none), text(), classes);  // tied
  check_sound(mlp(), regression(), squares);
  check_sound(LowRank(), regression(), squares);
  check_sound(Cached(), sequences(), squares, {.causal = true, .overfit_to = 0.5});
  check_sound(Sequential{MinGRU(kC, 32, g), Linear(32, kC, g)}, sequences(), squares,
              {.causal = true, .overfit_to = 0.5});
  check_sound(Sequential{MLP(kC, 32, g, {.dropout = 0.1}), SwiGLU(kC, 16, g), Linear(kC, 3, g)}, regression(),
              squares, {.order = 2});
  const auto running = [](Custom& m, const Tensor& x) {
    if (m.training()) m.extra.copy_(m.extra * 0.9 + mean(x, {0}) * 0.1);
    return m.fc(x - m.extra);
  };
  check_sound(Custom(running, zeros({kC})), regression(), squares, {.skip = {"repeats", "gradcheck"}});
  Linear wide(kC, 3, g);
  wide.to(DType::float64);
  check_sound(wide, {regression().x.to(DType::float64), regression().y.to(DType::float64)}, squares);
  // Without targets, and a model that is not called as model(x).
  check_sound(Custom([](Custom& m, const Tensor& x) { return m.fc(x); }), {drawn({kB, kC}), {}},
              [](Custom& m, const Tensor& x, const Tensor&) { return mse_loss(m.fc(x), x.slice(1, 0, 3)); });
}

}  // namespace gradus::test_check_module_sound

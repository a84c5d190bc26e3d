// check_module passes sound models of these layers.
#include "catch.hpp"
#include "gradus/annexes/layers/channel_norms.hpp"
#include "gradus/annexes/layers/convolution.hpp"
#include "gradus/annexes/layers/recurrent.hpp"
#include "gradus/annexes/layers/self_attention.hpp"
#include "gradus/annexes/layers/transformer.hpp"
#include "gradus/nn/containers.hpp"
#include "gradus/nn/sequential.hpp"
#include "nn/check_models.hpp"

namespace gradus::test_sound_layers {

using namespace gradus::testing;

/// A classifier of sequences that averages the outputs of a layer over time.
template <class Layer>
struct Averaging : Module {
  explicit Averaging(Layer of) : layer(std::move(of)) {}
  void visit(Visitor& v) override { v("layer", layer)("head", head); }
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const {
    if constexpr (std::is_same_v<Layer, LSTM>)
      return head(mean(layer(x, {}, dropout).output, {1}));
    else
      return head(mean(layer(x, dropout), {1}));
  }
  Generator g{3};
  Layer layer;
  Linear head{kC, kV, g};
};

template <class M, class F>
void check_sound(M model, const CheckBatch& batch, F loss, const ModuleCheckOptions& options = {}) {
  CHECK(check_module(model, batch, loss, options));
}

TEST_CASE("sound models of convolutions, recurrences, encoders and tutorials pass") {
  Generator g(1);
  const Tensor label = randint(0, kV, {kB}, g);
  check_sound(Sequential{Conv2d(3, 8, 3, g, {.padding = 1}), BatchNorm2d(8), relu, MaxPool2d(2),
                         Conv2d(8, 8, 3, g), GroupNorm(2, 8), relu, Flatten(), Linear(32, kV, g)},
              {drawn({kB, 3, 8, 8}), label}, classes);
  check_sound(Averaging(LSTM(kC, kC, g, {.num_layers = 2, .batch_first = true, .dropout = 0.1})),
              {sequences().x, label}, classes);
  check_sound(Averaging(TransformerEncoderLayer(kC, 2, g, {.batch_first = true})), {sequences().x, label},
              classes);
  check_sound(SelfAttention(kC, kC, g), sequences(), squares, {.causal = true, .overfit_to = 0.5});
  check_sound(SelfAttention(kC, kC, g, {.mask_on = MaskOn::weights, .dropout = 0.1, .num_heads = 2}),
              sequences(), squares, {.causal = true, .overfit_to = 0.7});
}

TEST_CASE("modules of several results are in a dictionary, too") {
  Generator g(1);
  const ModuleDict recurrent{{"rnn", RNN(3, 3, g)}, {"lstm", LSTM(3, 3, g)}};
  CHECK(recurrent["lstm"].get<LSTM>()(ones({5, 2, 3})).output.shape() == Shape{5, 2, 3});
  CHECK_THROWS_AS(recurrent["lstm"](ones({5, 2, 3})), Error);
}

}  // namespace gradus::test_sound_layers

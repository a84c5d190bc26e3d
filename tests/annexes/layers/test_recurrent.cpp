// RNN, GRU and LSTM: PyTorch's numbers, layouts, and errors.
#include "gradus/annexes/layers/recurrent.hpp"

#include "annexes/layers/layers_golden.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn::test_recurrent {

using namespace testing;

Tensor at(const Tensors& list, size_t i) { return i < list.size() ? list[i] : Tensor(); }

template <class Layer>
void check_layer(const std::string& name, const RecurrentOptions& options) {
  Generator g = golden_generator();
  check_golden<Layer>(name, Layer(3, 2, g, options), [](const Layer& m, const Tensors& in) -> Tensors {
    Generator dropout = golden_generator();
    if constexpr (std::is_same_v<Layer, LSTM>) {
      const auto [output, h_n, c_n] = m(in[0], {at(in, 1), at(in, 2)}, &dropout);
      return {output, h_n, c_n};
    } else {
      const auto [output, h_n] = m(in[0], at(in, 1), &dropout);
      return {output, h_n};
    }
  });
}

TEST_CASE("layers compute what PyTorch's compute") {
  check_layer<RNN>("rnn", {});
  check_layer<RNN>("rnn_relu", {.num_layers = 2, .nonlinearity = Nonlinearity::relu, .bidirectional = true});
  check_layer<GRU>("gru", {});
  check_layer<GRU>("gru_deep", {.num_layers = 2, .batch_first = true, .bidirectional = true});
  check_layer<GRU>("gru_no_bias", {.bias = false});
  check_layer<LSTM>("lstm", {});
  check_layer<LSTM>("lstm_deep", {.num_layers = 2, .batch_first = true, .bidirectional = true});
  check_layer<LSTM>("lstm_unbatched", {.bias = false, .bidirectional = true});
  check_layer<LSTM>("lstm_dropout", {.num_layers = 3, .dropout = 0.4});
}

TEST_CASE("a matrix of gates has the role of several matrices") {
  Generator g(1);
  const auto roles = LSTM(3, 2, g).named_parameters();
  const std::vector<int64_t> parts = {4, 4, 1, 1};  // weight_ih, weight_hh, both biases
  REQUIRE(roles.size() == parts.size());
  for (size_t i = 0; i < parts.size(); ++i) CHECK(roles[i].role.parts == parts[i]);
  CHECK(GRU(3, 2, g).named_parameters()[1].role.parts == 3);
  CHECK(RNN(3, 2, g).named_parameters()[1].role.parts == 1);
}

TEST_CASE("recurrent layers: errors") {
  Generator g(1);
  CHECK_THROWS_WITH(GRU(0, 2, g), "[gru] input_size and hidden_size must be >= 1, got 0 and 2.");
  CHECK_THROWS_WITH(RNN(3, 2, g, {.num_layers = 0}), "[rnn] num_layers must be >= 1, got 0.");
  CHECK_THROWS_WITH(RNN(3, 2, g, {.dropout = 1.5}), "[dropout] p must be in [0, 1], got 1.5.");
  CHECK_THROWS_WITH(LSTM(3, 2, g, {.nonlinearity = Nonlinearity::relu}),
                    "[lstm] nonlinearity must be tanh, or relu in an RNN, got another one.");
  const LSTM lstm(3, 2, g, {.batch_first = true});
  CHECK_THROWS_WITH(lstm(zeros({4, 2, 5})), "[lstm] x must be (B, T, 3) or (T, 3), got (4, 2, 5).");
  CHECK_THROWS_WITH(lstm(zeros({4, 0, 3})), "[lstm] x must have at least one time step, got (4, 0, 3).");
  CHECK_THROWS_WITH(lstm(zeros({4, 2, 3}), {zeros({1, 2, 2}), {}}),
                    "[lstm] h_0 must be of shape (1, 4, 2), got (1, 2, 2).");
  CHECK_THROWS_WITH(lstm(zeros({2, 3}), {zeros({1, 2}), zeros({1, 1, 2})}),
                    "[lstm] c_0 must be of shape (1, 2), got (1, 1, 2).");
}

}  // namespace gradus::nn::test_recurrent

#include "autograd/compare.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/sequential.hpp"

namespace gradus::nn::test_layers {

using namespace testing;

TEST_CASE("Linear is x W^T + b") {
  Generator g(1);
  Linear layer(2, 3, g);
  layer.weight.copy_(matrix({{1, 2}, {3, 4}, {5, 6}}));
  layer.bias.copy_(tensor(std::vector<float>{10, 20, 30}, {3}));
  CHECK(difference(layer(matrix({{1, -1}})), matrix({{9, 19, 29}}), 0.0) == "");
  CHECK(layer(ones({4, 5, 2})).shape() == Shape{4, 5, 3});
  CHECK_FALSE(Linear(2, 3, g, {.bias = false}).bias.defined());
  CHECK_THROWS_WITH(Linear(0, 3, g), "[linear] in_features and out_features must be >= 1, got 0 and 3.");
}

TEST_CASE("Embedding gives the rows that the index names") {
  Generator g(1);
  const Embedding table(500, 40, g);
  const Tensor rows = table(tensor(std::vector<int64_t>{3, 499, 3, 0}, {2, 2}));
  CHECK(rows.shape() == Shape{2, 2, 40});
  CHECK(difference(rows.select(0, 0).select(0, 1), table.weight.select(0, 499), 0.0) == "");
  CHECK(difference(rows.select(0, 1).select(0, 0), table.weight.select(0, 3), 0.0) == "");
  CHECK_THROWS_WITH(Embedding(0, 3, g),
                    "[embedding] num_embeddings and embedding_dim must be >= 1, got 0 and 3.");
}

TEST_CASE("LayerNorm normalises the last dimension, with and without bias") {
  const Tensor x = matrix({{1, 2, 3, 6}});  // mean 3, variance 3.5
  LayerNorm norm(4);
  norm.weight.fill_(2.0);
  norm.bias.fill_(1.0);
  const double s = 1.0 / std::sqrt(3.5 + 1e-5);
  const auto expected = [&](double scale, double shift) {
    std::vector<double> values;
    for (const double centred : {-2.0, -1.0, 0.0, 3.0}) values.push_back(centred * s * scale + shift);
    return f64(values, {1, 4});
  };
  CHECK(difference(norm(x).to(DType::float64), expected(2, 1), 1e-6) == "");
  const LayerNorm plain(4, {.bias = false});
  CHECK_FALSE(plain.bias.defined());
  CHECK(difference(plain(x).to(DType::float64), expected(1, 0), 1e-6) == "");
  CHECK(LayerNorm(4, {.eps = 1e9})(x).at({0, 3}) < 1e-3);
  CHECK_THROWS_WITH(LayerNorm(0), "[layer_norm] features must be >= 1, got 0.");
}

TEST_CASE("RMSNorm divides the last dimension by its root mean square") {
  const Tensor x = matrix({{1, 2, 3, 6}});  // mean square 12.5
  RMSNorm norm(4, {.eps = 0.5});
  CHECK(norm.named_parameters().size() == 1);
  norm.weight.fill_(2.0);
  CHECK(difference(norm(x).to(DType::float64), f64({1, 2, 3, 6}, {1, 4}) * (2 / std::sqrt(13.0)), 1e-6) ==
        "");
  CHECK(difference(RMSNorm(4)(x), rms_norm(x, {4})) == "");
  CHECK_THROWS_WITH(RMSNorm(0), "[rms_norm] features must be >= 1, got 0.");
}

TEST_CASE("Dropout drops in training mode only, and only with a generator") {
  Dropout drop(0.25);
  const Tensor x = ones({100, 100});
  Generator g(3);
  const Tensor y = drop(x, &g);
  const double dropped = sum(eq(y, 0.0).to(DType::float64)).item() / 1e4;
  CHECK(std::abs(dropped - 0.25) < 0.02);
  CHECK(amax(y).item() == Catch::Approx(1.0 / 0.75));
  CHECK_THROWS_WITH(
      drop(x),
      "[dropout] needs a generator in training mode with p > 0, got none and p = 0.25. Hint: pass one to "
      "the call, or call eval() on the model.");

  drop.eval();
  const Generator before = g;
  CHECK(difference(drop(x, &g), x, 0.0) == "");
  CHECK(difference(drop(x), x, 0.0) == "");
  CHECK(g == before);
  CHECK(difference(Dropout(0.0)(x), x, 0.0) == "");

  CHECK(difference(Dropout(1.0)(x, &g), zeros({100, 100}), 0.0) == "");
  for (const double p : {-0.1, 1.1, std::nan("")}) CHECK_THROWS_AS(Dropout(p), Error);
}

TEST_CASE("Sequential calls its layers in turn and names them by number") {
  Generator g(1);
  Sequential model{Linear(2, 8, g), gelu, Dropout(0.5), Linear(8, 1, g, {.bias = false})};
  CHECK(column(model.named_parameters(), &NamedParameter::first) ==
        std::vector<std::string>{"0.weight", "0.bias", "3.weight"});

  const Tensor x = matrix({{1, -2}, {0.5, 3}});
  const auto p = model.parameters();
  model.eval();
  CHECK(difference(model(x), linear(gelu(linear(x, p[0], p[1])), p[2]), 0.0) == "");
  model.train();
  CHECK_THROWS_AS(model(x), Error);
  CHECK(difference(model(x, &g), model(x, &g)) != "");
}

TEST_CASE("a Sequential takes operations and lambdas beside layers") {
  Generator g(2);
  const Sequential model{Linear(2, 8, g), tanh, [](const Tensor& x) { return 2.0 * x; }, silu,
                         Linear(8, 1, g)};
  const auto p = model.named_parameters();
  REQUIRE(p.size() == 4);
  CHECK((p[0].first == "0.weight" && p[3].first == "4.bias"));
  const Tensor x = matrix({{1, -2}, {0.5, 3}});
  const Tensor inner = silu(2.0 * tanh(linear(x, p[0].second, p[1].second)));
  CHECK(difference(model(x), linear(inner, p[2].second, p[3].second), 0.0) == "");

  const Sequential drops{
      [](const Tensor& in, Generator* dropout) { return dropout ? zeros(in.shape()) : in; }};
  CHECK(difference(drops(x), x, 0.0) == "");
  CHECK(difference(drops(x, &g), zeros({2, 2}), 0.0) == "");
}

TEST_CASE("MLP is c_proj(gelu_tanh(c_fc(x))), then dropout") {
  Generator g(1);
  MLP mlp(4, 16, g, {.dropout = 0.5});
  const Tensor x = randn({2, 3, 4}, g);
  const Tensor expected =
      linear(gelu(linear(x, mlp.c_fc.weight, mlp.c_fc.bias), Gelu::tanh), mlp.c_proj.weight, mlp.c_proj.bias);
  CHECK(difference(mlp.without_dropout(x), expected, 0.0) == "");
  const Tensor dropped = mlp(x, &g);
  CHECK(sum(eq(dropped, 0.0).to(DType::float64)).item() > 0);
  mlp.eval();
  CHECK(difference(mlp(x), expected, 0.0) == "");
}

}  // namespace gradus::nn::test_layers

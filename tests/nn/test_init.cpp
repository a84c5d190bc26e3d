// Initial values drawn from a torch generator are PyTorch 1.13's (make_init.py wrote init.json).
#include "gradus/nn/init.hpp"

#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/layers.hpp"
#include "test_files.hpp"

namespace gradus::nn::test_init {

using nlohmann::json;
using namespace testing;

Nonlinearity nonlinearity_of(const std::string& name) {
  if (name == "relu") return Nonlinearity::relu;
  if (name == "selu") return Nonlinearity::selu;
  if (name == "tanh") return Nonlinearity::tanh;
  return name == "linear" ? Nonlinearity::linear : Nonlinearity::leaky_relu;
}

void fill(Tensor& x, const std::string& call, const json& args) {
  Generator g = Generator::torch(7);
  const auto number = [&](const char* name, double otherwise) { return args.value(name, otherwise); };
  const double a = number("a", 0.0), gain = number("gain", 1.0);
  const Fan mode = args.value("mode", "fan_in") == "fan_in" ? Fan::in : Fan::out;
  const Nonlinearity after = nonlinearity_of(args.value("nonlinearity", "leaky_relu"));
  if (call == "kaiming_uniform_") return kaiming_uniform_(x, g, a, mode, after);
  if (call == "kaiming_normal_") return kaiming_normal_(x, g, a, mode, after);
  if (call == "xavier_uniform_") return xavier_uniform_(x, g, gain);
  if (call == "xavier_normal_") return xavier_normal_(x, g, gain);
  if (call == "trunc_normal_")
    return trunc_normal_(x, g, number("mean", 0.0), number("std", 1.0), number("a", -2.0), number("b", 2.0));
  if (call == "orthogonal_") return orthogonal_(x, g, gain);
  if (call == "eye_") return eye_(x);
  FAIL("no such call: " << call);
}

TEST_CASE("initial values are PyTorch's, to the bit where only the generator rounds") {
  const json cases = json::parse(files::read(testing::test_files() / "nn/init.json"));
  CHECK(cases.size() == 140);
  for (const json& c : cases) {
    INFO(c.at("call") << c.at("args") << c.at("shape") << c.at("dtype"));
    const bool is_single = c.at("dtype") == "float32";
    const std::string call = c.at("call");
    Tensor x = full(Shape(c.at("shape").get<std::vector<int64_t>>()), 3.0,
                    is_single ? DType::float32 : DType::float64);
    fill(x, call, c.at("args"));
    const Tensor expected = tensor(c.at("data").get<std::vector<double>>(), x.shape()).to(x.dtype());
    const bool rounds = call == "orthogonal_" || call == "trunc_normal_";
    CHECK(difference(x, expected, !rounds ? 0 : is_single ? 1e-6 : 1e-14) == "");
  }
}

TEST_CASE("orthogonal_ of many rows keeps them orthogonal") {
  Generator g(3);
  Tensor x = empty({60, 4, 16}, DType::float64);
  orthogonal_(x, g, 2.0);
  const Tensor rows = x.flatten(1);
  CHECK(difference(matmul(rows, rows.mT()), 4.0 * eye(60, DType::float64), 1e-13) == "");
}

TEST_CASE("a part of a parameter gets values of its own") {
  Generator g(1);
  Linear layer(4, 6, g);
  for (Tensor part : layer.weight.chunk(3, 0)) xavier_uniform_(part, g);
  Tensor row = layer.weight.select(0, 1);
  constant_(row, 7);
  CHECK(layer.weight.detach().at({1, 3}) == 7);
  CHECK(layer.weight.requires_grad());
}

TEST_CASE("constant_ and the gains") {
  Tensor x = empty({2, 3});
  constant_(x, 0.25);
  CHECK(difference(x, full({2, 3}, 0.25), 0) == "");
  ones_(x);
  CHECK(difference(x, ones({2, 3}), 0) == "");
  zeros_(x);
  CHECK(difference(x, zeros({2, 3}), 0) == "");
  Generator g(5);
  Tensor leaf = empty({2, 3}).requires_grad_();
  normal_(leaf, 0.0, 1.0, g);
  sum(leaf).backward();
  CHECK(difference(leaf.grad(), ones({2, 3}), 0) == "");
  CHECK(calculate_gain(Nonlinearity::leaky_relu) == std::sqrt(2.0 / (1 + 0.01 * 0.01)));
  CHECK(calculate_gain(Nonlinearity::leaky_relu, 0.2) == std::sqrt(2.0 / (1 + 0.2 * 0.2)));
  CHECK(calculate_gain(Nonlinearity::relu) == std::sqrt(2.0));
  CHECK(calculate_gain(Nonlinearity::tanh) == 5.0 / 3);
  CHECK(calculate_gain(Nonlinearity::selu) == 0.75);
  CHECK(calculate_gain(Nonlinearity::sigmoid) == 1);
}

TEST_CASE("initialisers reject shapes and arguments that have no meaning") {
  Generator g(1);
  Tensor v = empty({3}), m = empty({2, 3});
  CHECK_THROWS_WITH(kaiming_normal_(v, g),
                    "[kaiming_normal_] needs a weight (out, in, ...), got shape (3,).");
  CHECK_THROWS_WITH(xavier_normal_(v, g), "[xavier_normal_] needs a weight (out, in, ...), got shape (3,).");
  CHECK_THROWS_WITH(orthogonal_(v, g), "[orthogonal_] needs at least two dimensions, got shape (3,).");
  CHECK_THROWS_WITH(eye_(v), "[eye_] needs a matrix, got shape (3,).");
  CHECK_THROWS_AS(trunc_normal_(m, g, 0.0, 0.0), Error);
  CHECK_THROWS_AS(trunc_normal_(m, g, 0.0, 1.0, 2.0, 1.0), Error);
}

TEST_CASE("without initial values nothing is drawn or written") {
  const NoInit no_init;
  Generator g(1), same(1);
  Tensor x = new_parameter({4, 4, 3});
  kaiming_normal_(x, g);
  xavier_normal_(x, g);
  trunc_normal_(x, g);
  orthogonal_(x, g);
  constant_(x, 1.0);
  Tensor m = new_parameter({4, 4});
  eye_(m);
  CHECK(g == same);
}

}  // namespace gradus::nn::test_init

// Identity, Flatten, ModuleList and ModuleDict.
#include "gradus/nn/containers.hpp"

#include "autograd/compare.hpp"
#include "gradus/nn/gradcheck_module.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::nn::test_containers {

using namespace testing;

std::vector<std::string> names_of(const Module& module) {
  return column(module.named_parameters(), &NamedParameter::first);
}

/// Layers chosen at run time, called one after another.
class Stack : public Module {
 public:
  Tensor operator()(Tensor x, Generator* dropout = nullptr) const {
    for (const AnyModule& layer : layers) x = layer(x, dropout);
    return x;
  }
  void visit(Visitor& v) override { v("layers", layers); }
  ModuleList layers;
};

/// A module that is not called with one tensor.
class Pair : public Module {
 public:
  Tensor operator()(const Tensor& a, const Tensor& b) const { return a + b; }
  void visit(Visitor&) override {}
};

TEST_CASE("Identity returns its input, Flatten joins dimensions") {
  const Tensor x = arange(0, 24).reshape({2, 3, 4});
  CHECK(Identity()(x).impl() == x.impl());
  CHECK(difference(Flatten()(x), x.reshape({2, 12})) == "");
  CHECK(difference(Flatten(0, 1)(x), x.reshape({6, 4})) == "");
  CHECK(Flatten()(zeros({5, 0})).shape() == Shape{5, 0});
  CHECK_THROWS_AS(Flatten()(zeros({5})), Error);  // as in PyTorch
  CHECK_THROWS_WITH(Flatten(2, 1)(x),
                    "[flatten] start_dim must not come after end_dim, got 2 and 1 for (2, 3, 4).");
}

TEST_CASE("a list calls, names and differentiates layers of several types") {
  Generator g(1);
  Stack stack;
  stack.layers = ModuleList{Linear(3, 4, g), Identity()};
  stack.layers.append(LayerNorm(4));
  stack.layers.append(Linear(4, 2, g, {.bias = false}));
  CHECK(stack.layers.size() == 4);
  CHECK(names_of(stack) == std::vector<std::string>{"layers.0.weight", "layers.0.bias", "layers.2.weight",
                                                    "layers.2.bias", "layers.3.weight"});
  const Tensor x = randn({5, 3}, g, DType::float64);
  const auto call = [](const Stack& m, const std::vector<Tensor>& in) { return m(in[0]); };
  CHECK(gradcheck_module<Stack>(stack, {x}, call).passed);
  const auto& first = stack.layers[0].get<Linear>();
  const auto& last = stack.layers[-1].get<Linear>();
  const Tensor y = randn({5, 3}, g);
  CHECK(difference(stack(y), last(stack.layers[2].get<LayerNorm>()(first(y)))) == "");
}

TEST_CASE("a copy of a list shares parameters, but not modes and modules") {
  Generator g(1);
  ModuleList list{Linear(2, 2, g), Dropout(0.5)};
  ModuleList copy = list;
  CHECK(copy[0].get<Linear>().weight.impl() == list[0].get<Linear>().weight.impl());
  copy.eval();
  CHECK((list[1].get<Dropout>().training() && !copy[1].get<Dropout>().training()));
  copy[1] = Identity();
  copy.append(Identity());
  CHECK((list.size() == 2 && copy.size() == 3));
  const ModuleList nested{list, Identity()};
  CHECK(names_of(nested) == std::vector<std::string>{"0.0.weight", "0.0.bias"});
  const Tensor x = ones({4, 2});
  CHECK_ERROR(list[1](x), "[dropout] needs a generator");
  CHECK(difference(list[1](x, &g), x) != "");
  CHECK(difference(copy[1](x), x) == "");
}

TEST_CASE("a list says what is wrong with a place or a type") {
  Generator g(1);
  const ModuleList list{Linear(2, 2, g), Pair()};
  CHECK(error_of([&] { list[2]; }) == "[module_list] the index must be in [-2, 2), got 2.");
  CHECK(error_of([&] { list[-3]; }) == "[module_list] the index must be in [-2, 2), got -3.");
  CHECK(error_of([&] { list[0].get<Dropout>(); }) ==
        "[any_module] must be of the type that get() asks for, got another one.");
  CHECK_HAS(error_of([&] { list[1](ones({2})); }),
            "[any_module] a module must take one tensor and return one");
  CHECK(difference(list[1].get<Pair>()(ones({2}), ones({2})), full({2}, 2.0)) == "");
}

TEST_CASE("a dictionary keeps the order of its names, and replaces") {
  Generator g(1);
  ModuleDict dict{{"out", Linear(2, 1, g)}, {"act", Identity()}};
  dict.insert_or_assign("in", Linear(3, 2, g));
  CHECK(dict.keys() == std::vector<std::string>{"out", "act", "in"});
  CHECK(names_of(dict) == std::vector<std::string>{"out.weight", "out.bias", "in.weight", "in.bias"});
  dict.insert_or_assign("out", Identity());
  CHECK((dict.size() == 3 && dict.contains("out") && !dict.contains("ou")));
  CHECK(names_of(dict) == std::vector<std::string>{"in.weight", "in.bias"});
  const Tensor x = ones({4, 3});
  CHECK(difference(dict["in"](x), dict["in"].get<Linear>()(x)) == "");
  for (const auto& [key, module] : dict) CHECK(dict[key].module().training());
  CHECK_THROWS_WITH(dict["inn"], "[module_dict] the name must be one of: out, act, in; got 'inn'.");
  for (const char* key : {"", "a.b"}) CHECK_ERROR(dict.insert_or_assign(key, Identity()), "[module_dict]");
}

}  // namespace gradus::nn::test_containers

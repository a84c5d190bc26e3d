#include "gradus/nn/module.hpp"

#include "autograd/compare.hpp"
#include "catch.hpp"
#include "gradus/nn/gradcheck_module.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/sequential.hpp"

namespace gradus::nn::test_module {

using namespace testing;

class Tower : public Module {
 public:
  explicit Tower(Generator& g) : first(2, 3, g), table(ones({4}).requires_grad_()) {
    for (int i = 0; i < 2; ++i) rest.emplace_back(3, 3, g, LinearOptions{.bias = false});
  }
  void visit(Visitor& v) override { v("first", first)("rest", rest)("table", table); }

  Linear first;
  std::vector<Linear> rest;
  Tensor table;
};

std::vector<std::string> names_of(const Module& module) {
  return column(module.named_parameters(), &NamedParameter::first);
}

/// One member of each kind that `visit` takes.
class Cabinet : public Module {
 public:
  explicit Cabinet(Generator& g) {
    some.emplace(2, 2, g, LinearOptions{.bias = false});
    owned = std::make_unique<Linear>(2, 2, g, LinearOptions{.bias = false});
    boxes.push_back(std::make_unique<LayerNorm>(2, LayerNormOptions{.bias = false}));
    boxes.push_back(std::make_unique<Linear>(2, 2, g, LinearOptions{.bias = false}));
    by_key.emplace("b", Embedding(3, 2, g));
    by_key.emplace("a", Embedding(3, 2, g));
    for (int i = 0; i < 2; ++i) tensors.push_back(ones({2, 2}).requires_grad_());
  }
  void visit(Visitor& v) override {
    v("none", none)("some", some)("nothing", nothing)("owned", owned);
    v("boxes", boxes)("by_key", by_key)("tensors", tensors);
  }

  std::optional<Linear> none, some;
  std::unique_ptr<Linear> nothing, owned;
  std::vector<std::unique_ptr<Module>> boxes;
  std::map<std::string, Embedding> by_key;
  std::vector<Tensor> tensors;
};

/// Counts its calls and keeps a mean of what it saw.
class Meter : public Module {
 public:
  explicit Meter(Generator& g) : scale(1, 1, g) {}
  void visit(Visitor& v) override { v("scale", scale).buffer("mean", mean).buffer("calls", calls); }

  Linear scale;
  Tensor mean = zeros({3}), calls = zeros({}, DType::int64);
};

TEST_CASE("visit takes optional members, owned ones, lists and maps") {
  Generator g(1);
  const Cabinet cabinet(g);
  CHECK(names_of(cabinet) == std::vector<std::string>{"some.weight", "owned.weight", "boxes.0.weight",
                                                      "boxes.1.weight", "by_key.a.weight", "by_key.b.weight",
                                                      "tensors.0", "tensors.1"});
}

TEST_CASE("each parameter has the role that visit says, or that of its shape") {
  struct Roles : Module {
    explicit Roles(Generator& g) : plain(2, 3, g), embed(4, 2, g), qkv(2, 6, g), head(2, 4, g) {}
    void visit(Visitor& v) override {
      v("plain", plain)("embed", embed)("qkv", qkv, Role::fused(3))("head", head, Role::head);
      v("own", own)("gain", gain)("flat", flat, Role::vector);
    }
    Linear plain;
    Embedding embed;
    Linear qkv, head;
    Tensor own = ones({2, 2}), gain = ones({2}), flat = ones({1, 2});
  };
  Generator g(1);
  std::map<std::string, std::pair<Role::Kind, int64_t>> roles;
  for (const NamedParameter& p : Roles(g).named_parameters()) roles[p.first] = {p.role.kind, p.role.parts};
  using Said = std::pair<Role::Kind, int64_t>;
  CHECK(roles == std::map<std::string, Said>{{"plain.weight", {Role::matrix, 1}},
                                             {"plain.bias", {Role::vector, 1}},
                                             {"embed.weight", {Role::embedding, 1}},
                                             {"qkv.weight", {Role::matrix, 3}},
                                             {"qkv.bias", {Role::vector, 1}},
                                             {"head.weight", {Role::head, 1}},
                                             {"head.bias", {Role::vector, 1}},
                                             {"own", {Role::matrix, 1}},
                                             {"gain", {Role::vector, 1}},
                                             {"flat", {Role::vector, 1}}});
}

TEST_CASE("buffers are saved and loaded, converted by to(), and are no parameters") {
  Generator g(1);
  Meter meter(g), other(g);
  CHECK(names_of(meter) == std::vector<std::string>{"scale.weight", "scale.bias"});
  CHECK(meter.num_parameters() == 2);
  REQUIRE(meter.named_buffers().size() == 2);
  CHECK(meter.named_buffers()[0].first == "mean");
  meter.mean.fill_(2.5);
  meter.calls.fill_(7);
  CHECK(meter.state_dict().size() == 4);
  other.load_state_dict(meter.state_dict());
  CHECK((other.mean.at({1}) == 2.5 && other.calls.item() == 7));
  check_error("got missing: mean.", [&] {
    StateDict state = meter.state_dict();
    state.erase("mean");
    other.load_state_dict(state);
  });
  meter.to(DType::float64);
  CHECK((meter.mean.dtype() == DType::float64 && meter.calls.dtype() == DType::int64));
  CHECK((meter.mean.at({2}) == 2.5 && !meter.mean.requires_grad()));
  meter.to(DType::bfloat16);
  CHECK(meter.mean.dtype() == DType::float32);
  CHECK(other.summary() ==
        "scale.weight  (1, 1)  1\n"
        "scale.bias    (1,)    1\n"
        "mean          (3,)    3  buffer\n"
        "calls         ()      1  buffer\n"
        "total                 2\n");

  struct Clash : Module {
    explicit Clash(bool buffer) : has_buffer(buffer) {}
    Tensor a = ones({2}), b = ones({2});
    bool has_buffer;
    void visit(Visitor& v) override { has_buffer ? v("x", a).buffer("x", b) : v("x", a)("x", b); }
  };
  for (const bool buffer : {false, true})
    CHECK_THROWS_WITH(Clash(buffer).parameters(), "[module] names must be unique, got x twice.");
}

TEST_CASE("parameters are named by path in the order of visit, absent ones skipped") {
  Generator g(1);
  const Tower tower(g);
  CHECK(names_of(tower) ==
        std::vector<std::string>{"first.weight", "first.bias", "rest.0.weight", "rest.1.weight", "table"});
  CHECK(tower.parameters().size() == 5);
  CHECK(tower.num_parameters() == 6 + 3 + 9 + 9 + 4);
}

TEST_CASE(
    "parameters are the module's own, a copy shares them but not its mode, and zero_grad clears gradients") {
  Generator g(1);
  Tower tower(g);
  tower.parameters().at(4).fill_(7.0);
  CHECK(tower.table.at({2}) == 7.0);
  Tower copy = tower;
  copy.table.fill_(3.0);
  CHECK(tower.table.at({0}) == 3.0);
  copy.eval();
  CHECK(tower.training());
  for (Tensor& p : tower.parameters()) p.set_grad(ones(p.shape()));
  copy.zero_grad();
  for (const Tensor& p : tower.parameters()) CHECK_FALSE(p.grad().defined());
}

TEST_CASE("a deep copy has its own parameters and buffers, tied, frozen and with gradients as before") {
  struct Tied : Module {
    explicit Tied(Generator& g) : table(3, 2, g), head(2, 3, g, {.bias = false}), gain(ones({2})) {
      head.weight = table.weight;
    }
    void visit(Visitor& v) override { v("table", table)("head", head)("gain", gain).buffer("count", count); }
    Embedding table;
    Linear head;
    Tensor gain, count = zeros({1}, DType::int64);
  };
  Generator g(1);
  Tied a(g);
  a.gain.requires_grad_(false);
  sum(a.head(a.table(tensor({0, 1})))).backward();
  Tied b = deep_copy(a);
  CHECK(b.head.weight.impl() == b.table.weight.impl());
  CHECK(b.gain.impl()->frozen);
  CHECK(difference(b.table.weight.grad(), a.table.weight.grad()) == "");
  for (size_t i = 0; i < 2; ++i) {
    Tensor mine = b.parameters()[i];
    CHECK(difference(mine.detach(), a.parameters()[i].detach()) == "");
    mine.fill_(7);
    CHECK(a.parameters()[i].detach().reshape({-1}).at({0}) != 7);
  }
  b.count.fill_(1);
  CHECK(a.count.item() == 0);
  CHECK(names_of(b) == std::vector<std::string>{"table.weight", "gain"});  // a tied one counts once
  CHECK(b.num_parameters() == 3 * 2 + 2);
  b.to(DType::float64);
  CHECK(b.head.weight.dtype() == DType::float64);
  CHECK(b.head.weight.impl() == b.table.weight.impl());
  const auto call = [](const Tied& m, const std::vector<Tensor>&) { return m.head(m.table(tensor({0, 2}))); };
  CHECK(gradcheck_module(a, {}, call).message == "");
  const auto wrong = [](const Tied& m, const std::vector<Tensor>& in) {
    CHECK(in.size() == 1);  // not the parameters
    return in[0] * sum(m.gain.detach());
  };
  CHECK(gradcheck_module(a, {ones({2}, DType::float64).requires_grad_()}, wrong).is_wrong);  // of the gain
}

TEST_CASE("train and eval reach every module below") {
  Generator g(1);
  Tower tower(g);
  CHECK((tower.training() && tower.first.training() && tower.rest[1].training()));
  tower.eval();
  CHECK_FALSE(
      (tower.training() || tower.first.training() || tower.rest[0].training() || tower.rest[1].training()));
  tower.train();
  CHECK((tower.training() && tower.rest[1].training()));
}

TEST_CASE("to converts values and keeps what requires a gradient") {
  Generator g(1);
  Tower tower(g);
  const Tensor before = tower.first.weight.to(DType::float64).detach();
  tower.table.requires_grad_(false);
  tower.to(DType::float64);
  CHECK(difference(tower.first.weight.detach(), before, 0.0) == "");
  CHECK(tower.first.weight.requires_grad());
  CHECK_FALSE(tower.table.requires_grad());
  CHECK_THROWS_WITH(tower.to(DType::int64),
                    "[module] parameters must be float32, float64, bfloat16, q8_0 or q4_0, got int64.");
}

TEST_CASE("a state dict brings another module to the same values, and is no part of the graph") {
  Generator g(1);
  Tower a(g), b(g);
  REQUIRE(difference(a.first.weight, b.first.weight) != "");
  const StateDict state = a.state_dict();
  CHECK(state.size() == 5);
  for (const auto& [name, values] : state) CHECK_FALSE(values.requires_grad());

  const LoadReport report = b.load_state_dict(state);
  CHECK((report.missing.empty() && report.unexpected.empty()));
  const auto pa = a.parameters(), pb = b.parameters();
  for (size_t i = 0; i < pa.size(); ++i) {
    CHECK(difference(pb[i], pa[i], 0.0) == "");
    CHECK(pb[i].impl() != pa[i].impl());
    CHECK(pb[i].requires_grad());
  }
  StateDict trained;  // parameters themselves
  for (const auto& [name, parameter] : Tower(g).named_parameters()) trained[name] = parameter * 0.5;
  a.load_state_dict(trained);
  for (const auto& [name, parameter] : a.named_parameters())
    CHECK(difference(parameter, trained.at(name).detach(), 0.0) == "");
}

TEST_CASE("a strict load names all that does not fit in one error and changes nothing") {
  Generator g(1);
  Tower tower(g);
  StateDict state = Tower(g).state_dict();
  state.erase("first.bias");
  state.erase("rest.1.weight");
  state["extra"] = ones({1});
  state["table"] = ones({5});
  const Tensor before = tower.first.weight.contiguous().detach().to(DType::float64);
  CHECK_THROWS_WITH(
      tower.load_state_dict(state),
      "[load_state_dict] names and shapes must be those of the module, got missing: first.bias, "
      "rest.1.weight; "
      "unexpected: extra; misshaped: table (5,) for (4,). Hint: the values were saved from a model of "
      "another shape.");
  CHECK(difference(tower.first.weight.detach().to(DType::float64), before, 0.0) == "");
}

TEST_CASE("a load that is not strict takes what is there, reports the rest, and still refuses wrong shapes") {
  Generator g(1);
  Tower tower(g);
  const LoadReport report = tower.load_state_dict({{"table", full({4}, 9.0)}, {"extra", ones({1})}}, false);
  CHECK(tower.table.at({3}) == 9.0);
  CHECK(report.missing ==
        std::vector<std::string>{"first.weight", "first.bias", "rest.0.weight", "rest.1.weight"});
  CHECK(report.unexpected == std::vector<std::string>{"extra"});
  CHECK_ERROR(tower.load_state_dict({{"table", ones({4, 1})}}, false), "misshaped: table (4, 1) for (4,)");
}

TEST_CASE("summary marks what requires no gradient: what was frozen, and what was forgotten") {
  Generator g(1);
  Linear layer(2, 3, g);
  layer.bias = zeros({3});
  layer.weight.requires_grad_(false);
  for (const DType dtype : {DType::float32, DType::float64}) {
    layer.to(dtype);
    CHECK(layer.summary() ==
          "weight  (3, 2)  6  frozen\n"
          "bias    (3,)    3  requires no gradient\n"
          "total           9\n");
  }
  layer.weight.requires_grad_();
  layer.bias.requires_grad_();
  CHECK(layer.summary() ==
        "weight  (3, 2)  6\n"
        "bias    (3,)    3\n"
        "total           9\n");
  CHECK(Linear(10, 12, g).summary() ==
        "weight  (12, 10)  120\n"
        "bias    (12,)      12\n"
        "total             132\n");
}

}  // namespace gradus::nn::test_module

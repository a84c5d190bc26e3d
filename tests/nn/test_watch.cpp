#include "gradus/nn/watch.hpp"

#include "autograd/compare.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/sequential.hpp"

namespace gradus::nn::test_watch {

using namespace testing;
using Names = std::vector<std::string>;

/// A module with a child, a child that is called twice, and a point of its own.
class Twice : public Module {
 public:
  explicit Twice(Generator& g) : first(3, 4, g), again(4, 4, g) {}
  Tensor operator()(const Tensor& x) const { return output(again(point("middle", tanh(again(first(x)))))); }
  void visit(Visitor& v) override { v("first", first)("again", again); }

  Linear first, again;
};

TEST_CASE("the output of each module and each point is kept under its name") {
  Generator g(1);
  Twice model(g);
  const Tensor x = randn({2, 3}, g);
  const Activations seen = watch(model, {"*"});
  const Tensor y = model(x);
  CHECK(seen.names() == Names{"first", "again", "middle", "out"});
  CHECK(seen.points() == seen.names());
  CHECK(difference(seen["first"], linear(x, model.first.weight, model.first.bias), 0.0) == "");
  REQUIRE(seen.all("again").size() == 2);
  CHECK(difference(tanh(seen.all("again")[0]), seen["middle"], 0.0) == "");
  CHECK(difference(seen["again"], y, 0.0) == "");
  CHECK(difference(seen["out"], y, 0.0) == "");
}

TEST_CASE("patterns choose, and .out is the output of a module") {
  Generator g(2);
  Sequential model{Twice(g), Linear(4, 2, g)};
  const Activations seen = watch(model, {"0.?i*", "1.out"});
  const Tensor y = model(randn({2, 3}, g));
  CHECK(seen.names() == Names{"0.first", "0.middle", "1.out"});
  CHECK(seen.points() == Names{"0.first", "0.again", "0.middle", "0", "1", "out"});
  CHECK(difference(seen["1.out"], y, 0.0) == "");
  CHECK_FALSE(seen.contains("0.again"));
  CHECK_THROWS_WITH(
      seen["0.again"],
      "[watch] the name must be that of a kept value, got '0.again'. Kept: 0.first, 0.middle, 1.out.");
}

TEST_CASE("a watch ends with its object, and a copy of the model is not watched") {
  Generator g(3);
  Twice model(g);
  const Tensor x = randn({2, 3}, g);
  Activations outer = watch(model, {"first"});
  {
    const Activations inner = watch(model, {"first"});
    model(x);
    CHECK(inner.all("first").size() == 1);
  }
  Twice copy = model;
  copy(x);
  model(x);
  CHECK(outer.all("first").size() == 2);
  Twice moved = std::move(model);  // It has the parameters, and the watches.
  moved(x);
  CHECK(outer.all("first").size() == 3);
  copy = moved;
  copy(x);
  CHECK(outer.all("first").size() == 3);
  outer.clear();
  CHECK(outer.names().empty());
  outer = watch(copy, {"again"});
  moved(x);
  CHECK(outer.names().empty());
  copy(x);
  CHECK(outer.names() == Names{"again"});
}

TEST_CASE("a watch may outlive its model") {
  Generator g(4);
  auto model = std::make_unique<Twice>(g);
  const Activations seen = watch(*model, {"first"});
  const auto off = Intervention::ablate(*model, {"first"});
  (*model)(randn({2, 3}, g));
  model.reset();
  CHECK(seen.contains("first"));
}

TEST_CASE("gradients of activations add up over backward passes") {
  Generator g(5);
  Twice model(g);
  const Tensor x = randn({2, 3}, g);
  const Activations seen = watch(model, {"middle", "again"}, {.gradients = true});
  const Tensor y = model(x), loss = sum(y * y);
  const Tensor expected = 2.0 * matmul(y.detach(), model.again.weight.detach());
  CHECK_THROWS_WITH(
      seen.grad("middle"),
      "[watch] 'middle' must have a gradient, got none. Hint: watch(model, patterns, {.gradients = true}), "
      "then backward() from a loss that depends on it.");
  loss.backward({}, /*retain_graph=*/true);
  CHECK(difference(seen.grad("middle"), expected, 1e-6) == "");
  loss.backward();
  CHECK(difference(seen.grad("middle"), expected * 2.0, 1e-6) == "");
  model(x);
  CHECK_THROWS_AS(seen.grad("middle"), Error);  // of the last value
}

TEST_CASE("interventions act in their order, and are seen by later watches") {
  Generator g(6);
  Twice model(g);
  const Tensor x = randn({2, 3}, g);
  const Activations before = watch(model, {"middle"});
  const auto add = Intervention(model, {"middle"}, [](const Tensor& v, const std::string& name) {
    CHECK(name == "middle");
    return v + 1.0;
  });
  const auto twice = Intervention::scale(model, {"middle"}, 2.0);
  const Activations after = watch(model, {"middle"});
  const Tensor y = model(x);
  CHECK(difference(after["middle"], (before["middle"] + 1.0) * 2.0, 0.0) == "");
  CHECK(difference(y, linear(after["middle"], model.again.weight, model.again.bias), 0.0) == "");
}

TEST_CASE("a value of another run is put in place, and gradients do not pass it") {
  Generator g(7);
  Twice model(g);
  const Tensor a = randn({2, 3}, g), b = randn({2, 3}, g);
  const Activations source = watch(model, {"middle"});
  const Tensor of_a = model(a);
  const auto patched = Intervention::patch(model, {"middle"}, source);
  const Tensor y = model(b);
  CHECK(difference(y, of_a, 0.0) == "");
  sum(y).backward();
  CHECK_FALSE(model.first.weight.grad().defined());
  CHECK(model.again.weight.grad().defined());

  const auto missing = Intervention::patch(model, {"first"}, source);
  CHECK_THROWS_WITH(model(b),
                    "[intervention] the source must have a value for each name, got none for 'first'.");
}

TEST_CASE("an intervention must keep shape and dtype") {
  Generator g(8);
  Twice model(g);
  const Tensor x = randn({2, 3}, g);
  {
    const Intervention wrong(model, {"first"},
                             [](const Tensor& v, const auto&) { return v.transpose(0, 1); });
    CHECK_THROWS_WITH(model(x),
                      "[intervention] the new value of 'first' must be float32 (2, 4), got float32 (4, 2).");
  }
  const Intervention none(model, {"first"}, [](const Tensor&, const auto&) { return Tensor(); });
  CHECK_THROWS_WITH(model(x), "[intervention] the new value of 'first' must be float32 (2, 4), got none.");
}

/// The pattern of each head is the softmax of its scores, its output their product with the values; watching
/// changes no result.
template <class M>
void check_pattern(M m, const Tensor& x, int64_t kv_heads, bool causal) {
  const Tensor fused = m(x);
  const Activations seen = watch(m, {"*"});
  CHECK(difference(m(x), fused, 1e-6) == "");
  const int64_t T = x.size(1), n_head = seen["q"].size(1), size = seen["q"].size(3);
  CHECK(seen["scores"].shape() == Shape{x.size(0), n_head, T, T});
  const Tensor mask = triu(ones({T, T}), 1).to(DType::boolean);
  for (int64_t h = 0; h < n_head; ++h) {
    const int64_t kv = h / (n_head / kv_heads);
    Tensor scores =
        matmul(seen["q"].select(1, h), seen["k"].select(1, kv).mT()) / std::sqrt(static_cast<double>(size));
    if (causal) scores = masked_fill(scores, mask, -INFINITY);
    const Tensor pattern = seen["pattern"].select(1, h);
    CHECK(difference(pattern, softmax(scores, -1), 1e-6) == "");
    CHECK(difference(seen[concat("head.", h)], matmul(pattern, seen["v"].select(1, kv)), 1e-6) == "");
  }
}

TEST_CASE("the pattern of attention is the softmax of its scores, of heads that share keys too") {
  Generator g(9);
  for (const bool causal : {true, false})
    check_pattern(MultiHeadAttention(8, 2, g, {.causal = causal}), randn({2, 5, 8}, g), 2, causal);
  for (const bool qk_norm : {true, false})
    check_pattern(GroupedQueryAttention(16, 4, 2, g, {.qk_norm = qk_norm}), randn({2, 5, 16}, g), 2, true);
}

TEST_CASE("watching other points keeps the fused attention's bits") {
  Generator g(11);
  MultiHeadAttention m(8, 2, g, {.dropout = 0.5});
  const Tensor x = randn({2, 5, 8}, g);
  Generator a(1), b(1);
  const Tensor plain = m(x, &a);
  const Activations seen = watch(m, {"c_proj", "head.*", "q"});
  CHECK(difference(m(x, &b), plain, 0.0) == "");
  CHECK(a.next() == b.next());
}

TEST_CASE("an ablated head is one whose columns of the projection are zero") {
  Generator g(12);
  MultiHeadAttention m(8, 2, g);
  const Tensor x = randn({2, 5, 8}, g);
  const auto off = Intervention::ablate(m, {"head.1"});
  MultiHeadAttention edited = m;
  edited.c_proj->weight = m.c_proj->weight.detach() * 1.0;
  edited.c_proj->weight.slice(1, 4, 8).fill_(0.0);
  CHECK(difference(m(x), edited(x), 1e-6) == "");

  // The same with a cache.
  KVCache cache = m.make_cache(2, 5), other = edited.make_cache(2, 5);
  CHECK(difference(m.decode(x, cache), edited.decode(x, other), 1e-6) == "");
}

TEST_CASE("a cache gives the pattern of a full call") {
  Generator g(13);
  GroupedQueryAttention m(16, 4, 2, g);
  const Tensor x = randn({2, 5, 16}, g);
  const Activations seen = watch(m, {"pattern"});
  m(x);
  KVCache cache = m.make_cache(2, 5);
  m.decode(x.slice(1, 0, 3), cache);
  m.decode(x.slice(1, 3, 5), cache);
  REQUIRE(seen.all("pattern").size() == 3);
  CHECK(difference(seen.all("pattern")[2], seen.all("pattern")[0].slice(2, 3, 5).detach(), 1e-6) == "");
}

TEST_CASE("the activation inside an MLP has the bits of the fused operation") {
  Generator g(14);
  MLP mlp(8, 32, g);
  SwiGLU swiglu_mlp(8, 32, g);
  const Tensor x = randn({2, 5, 8}, g), y = mlp(x), z = swiglu_mlp(x);
  const Activations a = watch(mlp, {"*"}), b = watch(swiglu_mlp, {"*"});
  CHECK(difference(mlp(x), y, 0.0) == "");
  CHECK(difference(swiglu_mlp(x), z, 0.0) == "");
  CHECK(a.names() == Names{"c_fc", "act", "c_proj", "drop", "out"});
  CHECK(b.names() == Names{"gate_proj", "up_proj", "act", "down_proj", "drop", "out"});
  CHECK(difference(a["act"], gelu(a["c_fc"], Gelu::tanh), 0.0) == "");
}

}  // namespace gradus::nn::test_watch

// gelu_linear and swiglu_linear: under Autocast one operation, with the bits of the two that they stand for.
#include "autograd/compare.hpp"
#include "autograd/kernels/vectors.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/tensor/storage.hpp"

namespace gradus::test_ops_activated_linear {

using namespace gradus::testing;

/// One of the ops, and the two that it replaces, of {x, weight, bias} or {gate, up, weight, bias}.
struct Pair {
  const char* name;
  size_t activated;  // inputs before the weight
  Tensor (*one)(const std::vector<Tensor>&);
  Tensor (*two)(const std::vector<Tensor>&);
};
using Inputs = const std::vector<Tensor>&;
const Pair kPairs[] = {
    {"gelu_linear", 1, [](Inputs x) { return gelu_linear(x[0], x[1], x[2]); },
     [](Inputs x) { return linear(gelu(x[0]), x[1], x[2]); }},
    {"gelu_linear, tanh", 1, [](Inputs x) { return gelu_linear(x[0], x[1], x[2], Gelu::tanh); },
     [](Inputs x) { return linear(gelu(x[0], Gelu::tanh), x[1], x[2]); }},
    {"swiglu_linear", 2, [](Inputs x) { return swiglu_linear(x[0], x[1], x[2], x[3]); },
     [](Inputs x) { return linear(swiglu(x[0], x[1]), x[2], x[3]); }},
};

/// Inputs of a pair: x from far on one side to far on the other.
std::vector<Tensor> inputs_of(const Pair& pair, const Shape& shape, int64_t out, bool bias = true) {
  Generator generator(11);
  std::vector<Tensor> all;
  for (size_t i = 0; i < pair.activated; ++i) all.push_back(randn(shape, generator) * 5.0);
  all.push_back(randn({out, shape.back()}, generator));
  all.push_back(bias ? randn({out}, generator) : Tensor());
  for (Tensor& x : all)
    if (x.defined()) x = x.detach().requires_grad_();
  return all;
}

std::vector<Tensor> defined_ones(Inputs inputs) {
  std::vector<Tensor> some;
  for (const Tensor& x : inputs)
    if (x.defined() && x.requires_grad()) some.push_back(x);
  return some;
}

/// The result, its gradients and, asked for, the gradients of a sum of products of those.
std::vector<Tensor> results(Tensor (*op)(Inputs), Inputs inputs, bool second) {
  Generator generator(12);
  Tensor y;
  {
    const Autocast autocast(DType::bfloat16);
    y = op(inputs);
  }
  const std::vector<Tensor> wanted = defined_ones(inputs);
  const Tensor gy = randn(y.shape(), generator).requires_grad_();
  std::vector<Tensor> all = grad({y}, wanted, {.grad_outputs = {gy}, .create_graph = second});
  if (second) {
    Tensor mixed;
    for (const Tensor& g : all) {
      const Tensor part = sum(g * randn(g.shape(), generator));
      mixed = mixed.defined() ? mixed + part : part;
    }
    std::vector<Tensor> by = wanted;
    by.push_back(gy);
    for (const Tensor& g : grad({mixed}, by, {.allow_unused = true})) all.push_back(g);
  }
  all.push_back(y);
  return all;
}

/// Second gradients are sums of the same parts, in another order.
void check_same(const Pair& pair, Inputs inputs, bool second = false) {
  const std::vector<Tensor> one = results(pair.one, inputs, second), two = results(pair.two, inputs, second);
  REQUIRE(one.size() == two.size());
  for (size_t i = 0; i < one.size(); ++i) {
    INFO("result " << i);
    CHECK(difference(one[i], two[i], second ? 1e-5 : 0) == "");
  }
}

template <class F>
void for_each_pair(F&& body) {
  for (const Pair& pair : kPairs) {
    INFO(pair.name);
    body(pair);
  }
}

TEST_CASE("an activation and its product have the bits of the two operations, at each level") {
  vectors::at_each_level([] {
    for_each_pair([](const Pair& pair) {
      for (const auto& [shape, out] : {std::pair<Shape, int64_t>{{1, 1}, 1},
                                       {{33, 17}, 5},
                                       {{2, 9, 40}, 24},
                                       {{48, 130}, 33},
                                       {{300, 600}, 70}}) {
        INFO("x " << shape << ", out " << out);
        check_same(pair, inputs_of(pair, shape, out));
      }
    });
  });
}

TEST_CASE("their second gradients are those of the two operations") {
  for_each_pair([](const Pair& pair) { check_same(pair, inputs_of(pair, {4, 5, 12}, 7), true); });
}

TEST_CASE("what needs no gradient gets none, and what is not packed is") {
  for_each_pair([](const Pair& pair) {
    const std::vector<Tensor> inputs = inputs_of(pair, {6, 40}, 24);
    check_same(pair, inputs_of(pair, {6, 40}, 24, false));
    for (size_t frozen = 0; frozen < inputs.size(); ++frozen) {
      std::vector<Tensor> some = inputs;
      some[frozen] = some[frozen].detach();
      check_same(pair, some);
    }
    std::vector<Tensor> views = inputs;
    for (Tensor& x : views)
      if (x.dim() == 2) x = x.detach().mT().contiguous().mT().requires_grad_();
    check_same(pair, views);
  });
}

TEST_CASE("a NaN or an infinity comes out, and no rows are no rows") {
  for_each_pair([](const Pair& pair) {
    std::vector<Tensor> inputs = inputs_of(pair, {3, 40}, 24);
    inputs[0] =
        cat({f32({kNan, kInf, -kInf}, {3, 1}), inputs[0].detach().slice(1, 1, 40)}, 1).requires_grad_();
    check_same(pair, inputs);
    check_same(pair, inputs_of(pair, {0, 40}, 24));
  });
}

TEST_CASE("under Autocast they are one operation in the graph, else two") {
  for_each_pair([](const Pair& pair) {
    const std::string name = pair.activated == 2 ? "swiglu_linear" : "gelu_linear";
    for (const auto& [shape, out] :
         {std::pair<Shape, const char*>{{2, 3}, "(2, 4)"}, {{5, 2, 3}, "(5, 2, 4)"}}) {
      const std::vector<Tensor> inputs = inputs_of(pair, shape, 4);
      CHECK_THAT(graph_text(pair.one(inputs)), !Catch::Matchers::Contains(name));
      const Autocast autocast(DType::bfloat16);
      CHECK_HAS(graph_text(pair.one(inputs)), name + " of bfloat16, float32 " + out);
      std::vector<Tensor> wide;
      for (const Tensor& x : inputs) wide.push_back(x.detach().to(DType::float64).requires_grad_());
      CHECK_THAT(graph_text(pair.one(wide)), !Catch::Matchers::Contains(name));
    }
  });
}

TEST_CASE("they keep the values in 2 bytes each where the two operations keep 4") {
  for_each_pair([](const Pair& pair) {
    const std::vector<Tensor> inputs = inputs_of(pair, {256, 512}, 16);
    const Autocast autocast(DType::bfloat16);
    const auto kept = [&](Tensor (*op)(Inputs)) {
      const int64_t before = memory_use().bytes;
      const Tensor y = op(inputs);
      linear(ones({1, 1}).requires_grad_() * 1.0,
             ones({1, 1}));  // What was packed last stays until the next.
      return memory_use().bytes - before - y.numel() * 4;
    };
    pair.one(inputs);  // The weight is packed once for both.
    CHECK(kept(pair.one) == 256 * 512 * 2);
    CHECK(kept(pair.two) == 256 * 512 * 4);
    const NoGrad no_grad;
    CHECK(kept(pair.one) == 0);
  });
}

TEST_CASE("an input that was changed is noticed") {
  for_each_pair([](const Pair& pair) {
    std::vector<Tensor> all = inputs_of(pair, {6, 40}, 24);
    const Autocast autocast(DType::bfloat16);
    const Tensor y = sum(pair.one(all));
    all[0].fill_(5);
    CHECK_HAS(error_of([&] { y.backward(); }), "overwritten");
  });
}

TEST_CASE("what does not fit is refused as by the two operations") {
  for_each_pair([](const Pair& pair) {
    for (const bool rounded : {false, true}) {
      const Autocast autocast(rounded ? DType::bfloat16 : DType::float32);
      const std::vector<Tensor> inputs = inputs_of(pair, {2, 3}, 4);
      for (size_t i = 0; i < inputs.size(); ++i)
        for (const Tensor& wrong :
             {ones({5, 7}), ones({2, 3}, DType::float64), ones({7}), ones({2, 3}, DType::int64)}) {
          std::vector<Tensor> all = inputs;
          all[i] = wrong;
          INFO("input " << i << " " << wrong.shape() << " " << name(wrong.dtype()));
          const std::string error = error_of([&] { pair.two(all); });
          CHECK(error != "");
          CHECK_THROWS_WITH(pair.one(all), error);
        }
    }
  });
}

}  // namespace gradus::test_ops_activated_linear

// The engine: which gradients arrive where, and what it refuses.

#include "autograd/compare.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/tensor/storage.hpp"

namespace gradus::test_backward {

using namespace gradus::testing;

TEST_CASE("backward fills the leaves' grad and nothing else") {
  const Tensor x = leaf({1, 2, 3}, {3}), w = leaf({4, 5, 6}, {3});
  const Tensor constant = f64({7, 8, 9});
  const Tensor y = x * w;
  sum(y * constant).backward();
  CHECK(difference(x.grad(), f64({28, 40, 54})) == "");
  CHECK(difference(w.grad(), f64({7, 16, 27})) == "");
  CHECK_FALSE(y.grad().defined());
  CHECK_FALSE(constant.grad().defined());
}

TEST_CASE("a tensor collects the gradients of all its uses, and of all its handles") {
  const Tensor x = leaf({2, -3}, {2}), same = x;
  sum(x * same * x).backward();
  CHECK(difference(x.grad(), f64({12, 27})) == "");
  const Tensor start = leaf({0.5}, {1});
  Tensor y = start;
  for (int i = 0; i < 40; ++i) y = y + y;  // 2^40 paths, each vertex walked once
  y.backward();
  CHECK(start.grad().item() == 0x1p40);
}

TEST_CASE("the gradient of a tensor by itself is the cotangent") {
  const Tensor x = leaf({1, 2}, {2}), y = exp(x), g = f64({3, 4});
  CHECK(difference(grad({y}, {y}, {.grad_outputs = {g}})[0], g) == "");
  x.backward(g);
  CHECK(difference(x.grad(), g) == "");
}

TEST_CASE("gradients alias nothing, and nothing writes into one that someone holds") {
  const Tensor x = leaf({1, 2}, {2}), y = leaf({3, 4}, {2});
  Tensor g = f64({5, 6});
  (x + y).backward(g);
  x.grad().fill_(0);
  CHECK(difference(y.grad(), f64({5, 6})) == "");
  CHECK(difference(g, f64({5, 6})) == "");
  g.fill_(9);
  CHECK(difference(y.grad(), f64({5, 6})) == "");

  const std::vector<Tensor> both = grad({x + y}, {x, y}, {.grad_outputs = {g}});
  CHECK(both[0].raw_data() != both[1].raw_data());
  CHECK(both[0].raw_data() != g.raw_data());
  const Tensor v = leaf({1, 2}, {2}), held = grad({sum(v * 2.0)}, {v})[0];
  sum(v * 3.0).backward();
  CHECK(difference(held, f64({2, 2})) == "");

  const Tensor z = leaf({1, 2, 3, 4}, {2, 2}), gz = f64({1, 2, 3, 4}, {2, 2});
  z.mT().backward(gz);
  CHECK(z.grad().raw_data() != gz.raw_data());
}

TEST_CASE("backward needs a scalar or a gradient that fits, of what requires one") {
  const Tensor x = leaf({1, 2}, {2}), constant = f64({1});
  CHECK_ERROR((x * 2.0).backward(), "[backward] needs a scalar, got shape (2");
  CHECK_ERROR((x * 2.0).backward(f64({1})), "the gradient must be float64 (2");
  CHECK_ERROR((x * 2.0).backward(ones({2})), "got float32");
  sum(x).reshape({1, 1}).backward();  // one element is scalar enough
  CHECK(difference(x.grad(), f64({1, 1})) == "");
  for (const Tensor& y : {constant * 2.0, sum(x.detach()), Tensor()})
    CHECK_ERROR(y.backward(), "requires no gradient");
}

TEST_CASE("a second backward is refused, with the op and the way out, which allows more") {
  const Tensor x = leaf({1, 2}, {2}), once = exp(f64({1, 2}));
  const Tensor y = sum(exp(x));
  y.backward({}, /*retain_graph=*/true);
  y.backward();
  CHECK_HAS(error_of([&] { y.backward(); }), "[backward] the graph was freed by an earlier backward, at sum.",
            "Hint: pass retain_graph=true to the first call.");
  CHECK(difference(x.grad(), once * 2.0) == "");  // nothing was added
}

TEST_CASE("a freed branch is refused from another loss too, and by grad()") {
  const Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  const Tensor shared = exp(x);
  sum(shared).backward();
  CHECK_ERROR(mean(shared).backward(), "at exp");
  CHECK_ERROR(grad({sum(shared * w)}, {x}, {.allow_unused = true}), "at exp");
  CHECK_ERROR(grad({sum(x * 2.0), sum(shared)}, {x}), "at exp");
  // What does not pass through it may still be asked for.
  CHECK(difference(grad({sum(shared * w)}, {w})[0], exp(f64({1, 2}))) == "");
}

TEST_CASE("create_graph gives gradients of gradients") {
  Tensor x = leaf({2}, {});
  Tensor y = pow(x, 4.0);
  for (const double expected : {32.0, 48.0, 48.0, 24.0}) {  // 4x^3, 12x^2, 24x, 24
    y = grad({y}, {x}, {.create_graph = true})[0];
    CHECK(y.item() == Catch::Approx(expected).epsilon(1e-12));
  }
  CHECK_FALSE(x.grad().defined());
  (x * x * x).backward({}, false, /*create_graph=*/true);
  const Tensor g = x.grad();
  CHECK(g.requires_grad());
  x.zero_grad();
  g.backward();
  CHECK(x.grad().item() == 12);
}

TEST_CASE("grad() adds over several outputs with their cotangents") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor a = x * 2.0, b = sum(x * x);
  const std::vector<Tensor> g =
      grad({a, b}, {x}, {.grad_outputs = {f64({1, 10}), Tensor()}, .retain_graph = true});
  CHECK(difference(g[0], f64({2 + 2, 20 + 4})) == "");
  CHECK(difference(grad({b, x * 1.0}, {x}, {.grad_outputs = {f64({1}).squeeze(), f64({1, 1})}})[0],
                   f64({3, 5})) == "");
}

TEST_CASE("an input that no output depends on is an error unless allowed") {
  const Tensor x = leaf({1}, {1}), unused = leaf({2}, {1});
  CHECK_ERROR(grad({x * 2.0}, {x, unused}), "no output depends on input 1. Hint: pass allow_unused");
  const std::vector<Tensor> g = grad({x * 2.0}, {unused, x}, {.allow_unused = true});
  CHECK_FALSE(g[0].defined());
  CHECK(g[1].item() == 2);
  CHECK_ERROR(grad({x * 2.0}, {f64({1})}), "input 0 requires no gradient");
  CHECK_ERROR(grad({x * 2.0}, {x}, {.grad_outputs = {f64({1}), f64({1})}}),
              "one cotangent an output, got 2 for 1");
}

TEST_CASE("only the paths to the inputs are walked and freed") {
  const Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  const Tensor hx = exp(x), hw = exp(w);
  const Tensor y = sum(hx + hw);
  grad({y}, {x});
  CHECK_NOTHROW(sum(hw).backward());
  CHECK_ERROR(sum(hx).backward(), "freed");
}

TEST_CASE("NoGrad records nothing and gives recording back") {
  const Tensor x = leaf({1, 2}, {2});
  {
    const NoGrad off;
    CHECK_FALSE(grad_enabled());
    CHECK_FALSE((x * 2.0).requires_grad());
    {
      const GradMode on(true);
      CHECK((x * 2.0).requires_grad());
    }
    CHECK_FALSE(x.reshape({2, 1}).requires_grad());
  }
  CHECK(grad_enabled());
  CHECK((x * 2.0).requires_grad());
  try {
    const NoGrad off;
    fail("test", "thrown under NoGrad.");
  } catch (const Error&) {
    CHECK(grad_enabled());
  }
}

TEST_CASE("an overwritten tensor that backward needs is refused, by the name of the op") {
  Tensor x = leaf({1, 2}, {2});
  const Tensor w = leaf({3, 4}, {2}), y = sum(x * w), both = sum(x + x);
  x.fill_(5);
  CHECK_HAS(error_of([&] { y.backward({}, true); }), "[backward]", "that mul needs has been overwritten");
  sum(w * 2.0).backward();  // after the error the graph is usable
  CHECK(difference(w.grad(), f64({2, 2})) == "");
  both.backward();  // which needs no x
  CHECK(difference(x.grad(), f64({2, 2})) == "");

  const Tensor z = leaf({1, 2}, {2});
  Tensor e = exp(z);
  const Tensor total = sum(e);
  e.detach().mutable_data<double>()[0] = 0;  // through another handle
  CHECK_ERROR(total.backward(), "that exp needs");
}

TEST_CASE("a joint rule gives all gradients at once, and only those that are needed") {
  const auto product = [](const Tensor& a, const Tensor& b, std::vector<bool>& asked) {
    return record("mul", (a * b).detach(), {a, b},
                  [a, b, &asked](const Tensor& gy, const Tensor& y, Needs needs) {
                    asked = {needs[0], needs[1]};
                    CHECK(difference(y, a.detach() * b.detach()) == "");
                    return std::vector<Tensor>{needs[0] ? gy * b : Tensor(), needs[1] ? gy * a : Tensor()};
                  });
  };
  std::vector<bool> asked;
  const Tensor a = leaf({2, 3}, {2}), b = leaf({5, 7}, {2}), constant = f64({5, 7});
  sum(product(a, b, asked)).backward();
  CHECK(asked == std::vector<bool>{true, true});
  CHECK(difference(a.grad(), f64({5, 7})) == "");
  CHECK(difference(b.grad(), f64({2, 3})) == "");
  sum(product(a, constant, asked)).backward();
  CHECK(asked == std::vector<bool>{true, false});
  grad({sum(product(a, b, asked))}, {b});
  CHECK(asked == std::vector<bool>{false, true});
}

TEST_CASE("a joint rule that does not ask for the result does not keep it") {
  const Tensor a = leaf({2, 3}, {2}), b = leaf({5, 7}, {2});
  const auto kept = [&](const JointRule& rule) {
    const int64_t before = memory_use().blocks;
    const Tensor y = neg(record("mul", (a * b).detach(), {a, b}, rule));
    const int64_t blocks = memory_use().blocks - before - 1;
    sum(y).backward();
    return blocks;
  };
  CHECK(kept([a, b](const Tensor& gy, Needs) { return std::vector<Tensor>{gy * b, gy * a}; }) == 0);
  CHECK(difference(a.grad(), f64({-5, -7})) == "");
  CHECK(difference(b.grad(), f64({-2, -3})) == "");
  CHECK(kept([a, b](const Tensor& gy, const Tensor& y, Needs) {
          return std::vector<Tensor>{gy * y / a, gy * y / b};
        }) == 1);
  CHECK(difference(a.grad(), f64({-10, -14})) == "");
}

TEST_CASE("a rule of one's own: broadcasting is summed, wrong shapes are refused") {
  // A row that is multiplied into a matrix: the rule gives the full gradient, the engine sums it.
  const Tensor x = f64({1, 2, 3, 4, 5, 6}, {2, 3}), row = leaf({1, 1, 1}, {3});
  const auto times = [&] {
    return record("mul", (x * row).detach(), {{row, [x = Saved(x)](const Tensor& gy) { return gy * x; }}});
  };
  sum(times()).backward();
  CHECK(difference(row.grad(), f64({5, 7, 9})) == "");
  const Tensor bad = record("mul", (x * row).detach(), {{row, [](const Tensor&) { return f64({1, 2}); }}});
  CHECK_ERROR(sum(bad).backward(), "the rule of mul must give float64 (3");
}

TEST_CASE("a backward inside a rule does not disturb the one outside") {
  const Tensor x = leaf({2, 3}, {2});
  const Tensor h = x * x;
  // A rule that itself differentiates the same graph.
  const Tensor y = record("mul", h.detach(), {{h, [h, x](const Tensor& gy) {
                                                 const GradMode on(true);
                                                 const Tensor inner =
                                                     grad({sum(h)}, {x}, {.retain_graph = true})[0];
                                                 CHECK(autograd::running_op == "mul");
                                                 return gy + 0.0 * inner;
                                               }}});
  sum(y + h).backward();
  CHECK(difference(x.grad(), f64({8, 12})) == "");
}

}  // namespace gradus::test_backward

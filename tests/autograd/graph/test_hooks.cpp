// Gradient hooks: when they run, what they see, what they may do.
#include "gradus/autograd/graph/hooks.hpp"

#include "autograd/compare.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_hooks {

using namespace gradus::testing;

TEST_CASE("a hook sees the whole gradient of a non-leaf, once; on a leaf, what this backward brings") {
  const Tensor x = leaf({1, 2}, {2}), h = x * 3.0;
  std::vector<Tensor> seen, of_leaf;
  h.register_hook([&](const Tensor& g) { seen.push_back(g); });
  x.register_hook([&](const Tensor& g) { of_leaf.push_back(g); });
  sum(h * h + h).backward();  // three contributions: 2 h + 1
  sum(x * 2.0).backward();
  REQUIRE(seen.size() == 1);
  CHECK(difference(seen[0], f64({7, 13})) == "");
  REQUIRE(of_leaf.size() == 2);
  CHECK(difference(of_leaf[0], f64({21, 39})) == "");
  CHECK(difference(of_leaf[1], f64({2, 2})) == "");
  CHECK(difference(x.grad(), f64({23, 41})) == "");
}

TEST_CASE("a hook on a leaf runs when its gradient is complete, before older ops are visited") {
  const Tensor early = leaf({1}, {1}), late = leaf({2}, {1}), twice = leaf({3}, {1});
  std::string order;
  const auto note = [&](const Tensor& of, char name) {
    of.register_hook([&order, name](const Tensor&) { order += name; });
  };
  const Tensor h = early * twice, k = h * twice;
  note(early, 'e'), note(late, 'l'), note(twice, 't'), note(h, 'h'), note(k, 'k');
  sum(k * late).backward();
  CHECK(order.starts_with("lkh"));  // then the other two
  CHECK(order.size() == 5);
  CHECK(twice.grad().item() == 12);
}

TEST_CASE("what a hook returns goes on in place of the gradient; hooks run in order") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor h = exp(x);
  h.register_hook([](const Tensor& g) { return g + 1.0; });
  h.register_hook([](const Tensor& g) { return g * 10.0; });
  sum(h).backward();
  CHECK(difference(x.grad(), 20.0 * exp(f64({1, 2}))) == "");
  const Tensor output = x * 2.0;
  output.register_hook([](const Tensor& g) { return g * 3.0; });
  CHECK(difference(grad({output}, {x}, {.grad_outputs = {f64({1, 10})}})[0], f64({6, 60})) == "");

  const Tensor y = leaf({1, 2}, {2});
  y.register_hook([](const Tensor& g) { return g * 0.5; });
  y.register_hook([](const Tensor&) { return Tensor(); });  // keeps it
  CHECK(difference(grad({sum(y * 4.0)}, {y})[0], f64({2, 2})) == "");
  sum(y * 4.0).backward();
  CHECK(difference(y.grad(), f64({2, 2})) == "");
}

TEST_CASE("removed hooks run no more; handles outlive tensors and removing twice is nothing") {
  const Tensor x = leaf({1}, {1});
  int first = 0, second = 0;
  HookHandle handle = x.register_hook([&](const Tensor&) { ++first; });
  x.register_hook([&](const Tensor&) { ++second; });  // dropping its handle does not remove it
  (x * 2.0).backward();
  handle.remove();
  handle.remove();
  (x * 2.0).backward();
  CHECK(first == 1);
  CHECK(second == 2);

  HookHandle of_dead;
  {
    const Tensor h = x * 2.0;
    of_dead = h.register_hook([](const Tensor&) {});
  }
  of_dead.remove();
  HookHandle().remove();
}

TEST_CASE("a hook may remove itself and others, and add one for the next time") {
  const Tensor x = leaf({1}, {1});
  HookHandle self, other;
  int runs = 0, others = 0, added = 0;
  self = x.register_hook([&](const Tensor&) {
    ++runs;
    self.remove();
    other.remove();
    x.register_hook([&](const Tensor&) { ++added; });
  });
  other = x.register_hook([&](const Tensor&) { ++others; });
  (x * 2.0).backward();
  CHECK(added == 0);
  (x * 2.0).backward();
  CHECK(runs == 1);
  CHECK(others == 0);
  CHECK(added == 1);
}

TEST_CASE("under create_graph what a hook computes is recorded") {
  const Tensor x = leaf({3}, {});
  const Tensor h = x * x;
  HookHandle handle = h.register_hook([](const Tensor& g) { return g * g; });
  const Tensor y = h * h;                                      // dy/dh = 2 h, the hook makes 4 h^2
  const Tensor g = grad({y}, {x}, {.create_graph = true})[0];  // 4 x^4 * 2 x = 8 x^5
  CHECK(g.item() == Catch::Approx(8 * 243.0));
  handle.remove();  // or it would run on the second derivative, too
  CHECK(grad({g}, {x})[0].item() == Catch::Approx(40 * 81.0));
}

TEST_CASE("grad() runs hooks on the way to its inputs only, and returns what they give") {
  const Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  int on_x = 0, on_w = 0;
  const Tensor hx = x * 2.0, hw = w * 2.0;
  hx.register_hook([&](const Tensor& g) {
    ++on_x;
    return g * 5.0;
  });
  hw.register_hook([&](const Tensor&) { ++on_w; });
  const Tensor y = sum(hx + hw);
  const std::vector<Tensor> g = grad({y}, {x, hx}, {.retain_graph = true});
  CHECK(difference(g[0], f64({10, 10})) == "");
  CHECK(difference(g[1], f64({5, 5})) == "");
  CHECK(on_x == 1);
  CHECK(on_w == 0);
  y.backward();
  CHECK(on_x == 2);
  CHECK(on_w == 1);
}

TEST_CASE("a hook may walk another graph, keep what it was given, and return what it owns") {
  const Tensor x = leaf({2}, {}), z = leaf({3}, {}), mine = f64({7}, {});
  std::vector<Tensor> kept;
  x.register_hook([&](const Tensor& g) {
    const GradMode on(true);
    (z * z).backward();
    kept.push_back(g);
    return mine;
  });
  for (const double sum_so_far : {7.0, 14.0}) {
    (x * x).backward();
    CHECK(x.grad().item() == sum_so_far);
  }
  CHECK(z.grad().item() == 12);
  x.grad().fill_(0);
  CHECK(kept[0].item() == 4);  // not the same values as grad()
  CHECK(mine.item() == 7);     // not written into
}

TEST_CASE("a hook that returns another shape or dtype is refused, by its number and tensor") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor h = exp(x);
  h.register_hook([](const Tensor& g) { return g; });
  h.register_hook([](const Tensor& g) { return sum(g); });
  CHECK_ERROR(sum(h).backward(),
              "[register_hook] hook 1 of exp float64 (2,) must return float64 (2,) or nothing, "
              "got float64 ().");
  x.register_hook([](const Tensor& g) { return g.to(DType::float32); });
  CHECK_ERROR(sum(x).backward(),
              "hook 0 of leaf float64 (2,) must return float64 (2,) or nothing, got float32 (2,)");
  CHECK_ERROR(f64({1}).register_hook([](const Tensor&) {}),
              "[register_hook] needs a tensor that requires a gradient.");
  CHECK_ERROR(Tensor().register_hook([](const Tensor&) {}),
              "[register_hook] needs a tensor that requires a gradient.");
}

TEST_CASE("an error in a hook passes through and leaves the engine usable") {
  const Tensor x = leaf({1, 2}, {2});
  HookHandle bad = x.register_hook([](const Tensor&) { fail("mine", "no."); });
  CHECK_THROWS_WITH(sum(x * 2.0).backward(), "[mine] no.");
  bad.remove();
  sum(x * 2.0).backward();
  CHECK(difference(x.grad(), f64({2, 2})) == "");
}

TEST_CASE("a hook dies with its tensor's place in the graph") {
  const auto token = std::make_shared<int>(0);
  const Tensor x = leaf({1}, {1});
  {
    const Tensor y = exp(x);
    y.register_hook([token](const Tensor&) {});
    CHECK(token.use_count() == 2);
    y.backward();
  }
  CHECK(token.use_count() == 1);
}

}  // namespace gradus::test_hooks

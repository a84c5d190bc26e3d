// Functions of one's own with several results.
#include "gradus/autograd/graph/record.hpp"

#include "autograd/compare.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/hooks.hpp"

namespace gradus::test_record_many {

using namespace gradus::testing;

using List = std::vector<Tensor>;

// r = sqrt(x^2 + y^2) and c = x / r; dr = (x dx + y dy) / r, dc = (y^2 dx - x y dy) / r^3.
List polar(const Tensor& x, const Tensor& y) {
  const Tensor a = x.detach(), b = y.detach(), r = sqrt(a * a + b * b);
  return record_many(OpName::custom("polar"), {r, a / r}, {x, y},
                     [x = Saved(x), y = Saved(y)](const List& g, const List& out, Needs) -> List {
                       const Tensor& norm = out[0];
                       const Tensor by_cube = g[1] / (norm * norm * norm);
                       return {g[0] * x / norm + by_cube * y * y, g[0] * y / norm - by_cube * x * y};
                     });
}

Tensor mixed(const List& out) { return sum(out[0] * out[0] * out[1]) + sum(exp(out[1])); }

TEST_CASE("record_many: gradcheck, orders 1 and 2, each result alone and both") {
  const Tensor x = f64({0.6, -1.2, 2.0}), y = f64({0.8, 0.5, -1.5});
  const auto check = [&](const GradcheckFunction& f) { return gradcheck(f, {x, y}, {.order = 2}).message; };
  CHECK(check([](const List& in) { return polar(in[0], in[1])[0]; }) == "");
  CHECK(check([](const List& in) { return polar(in[0], in[1])[1]; }) == "");
  CHECK(check([](const List& in) { return mixed(polar(in[0], in[1])); }) == "");
  CHECK(check([](const List& in) { return cat(polar(in[0], in[1]), 0); }) == "");
  const Tensor a = x.detach().requires_grad_();
  const List out = polar(a, y);
  out[0].register_hook([](const Tensor& g) { return g * 2.0; });
  const List g = grad({sum(out[0] * out[1])}, {out[0], out[1], a});
  CHECK(difference(g[0], 2.0 * out[1].detach()) == "");
  CHECK(difference(g[1], out[0].detach()) == "");
}

TEST_CASE("record_many: an unused result has a gradient of zeros, and the rule runs once") {
  const Tensor x = leaf({1, 2}, {2});
  int runs = 0;
  const List out = record_many(OpName::custom("pair"), {x.detach() * 2.0, x.detach() * 3.0}, {x},
                               [&](const List& g, const List&, Needs) -> List {
                                 ++runs;
                                 return {g[0] * 2.0 + g[1] * 3.0};
                               });
  sum(out[1]).backward({}, /*retain_graph=*/true);
  CHECK(difference(x.grad(), f64({3, 3})) == "");
  CHECK(runs == 1);
  sum(out[0] * out[1] + out[0]).backward();
  CHECK(runs == 2);
  CHECK(difference(x.grad(), f64({3 + 12 * 1 + 2, 3 + 12 * 2 + 2})) == "");
  CHECK_ERROR(sum(out[0]).backward(), "freed by an earlier backward, at pair");
}

TEST_CASE("record_many: results of several shapes and dtypes; integers stay outside") {
  const Tensor x = leaf({3, 1, 2}, {3});
  const List out = record_many(OpName::custom("largest"),
                               {full({}, 3.0, DType::float64), i64({0}), ones({2}, DType::float32)}, {x},
                               [](const List& g, const List& ys, Needs) -> List {
                                 CHECK_FALSE(g[1].defined());
                                 CHECK(ys[1].dtype() == DType::int64);
                                 CHECK(g[2].shape() == Shape{2});
                                 return {g[0] * f64({1, 0, 0})};
                               });
  CHECK(out[0].requires_grad());
  CHECK_FALSE(out[1].requires_grad());
  out[0].backward();
  CHECK(difference(x.grad(), f64({1, 0, 0})) == "");
}

TEST_CASE("record_many: only what is needed, and nothing under NoGrad") {
  const Tensor x = leaf({1}, {1}), constant = f64({2});
  bool asked[2] = {};
  const auto make = [&] {
    return record_many(OpName::custom("pair"), {f64({1}), f64({2})}, {constant, x},
                       [&](const List& g, const List&, Needs needs) -> List {
                         asked[0] = needs[0];
                         asked[1] = needs[1];
                         return {Tensor(), g[0]};
                       });
  };
  sum(make()[0]).backward();
  CHECK_FALSE(asked[0]);
  CHECK(asked[1]);
  const NoGrad off;
  CHECK_FALSE(make()[0].requires_grad());
}

TEST_CASE("record_many: an overwritten result, and wrong rules, are refused by name") {
  const Tensor x = leaf({1, 2}, {2});
  List out = polar(x, x);
  out[1].detach().fill_(0);
  CHECK_ERROR(sum(out[0]).backward(), "that polar needs has been overwritten");
  const auto with = [&](const ManyRule& rule) {
    return error_of([&] {
      sum(record_many(OpName::custom("bad"), {f64({1}), f64({2})}, {x}, rule)[0]).backward();
    });
  };
  CHECK_HAS(with([](const List&, const List&, Needs) { return List{}; }),
            "the rule of bad must give one gradient for each of its 1 inputs, got 0.");
  CHECK_HAS(with([](const List&, const List&, Needs) {
              return List{f64({1, 2, 3})};
            }),
            "the rule of bad must give float64 (2,), got float64 (3,).");
  const Tensor few = record(OpName::custom("few"), f64({1, 2}), {x, leaf({3, 4}, {2})},
                            [](const Tensor& g, const Tensor&, Needs) { return List{g}; });
  CHECK_ERROR(sum(few).backward(), "the rule of few must give one gradient for each of its 2 inputs, got 1.");
  const Tensor same = f64({1});
  CHECK_ERROR(record_many(OpName::custom("bad"), {same, same}, {x},
                          [](const List& g, const List&, Needs) { return g; }),
              "[bad] needs a tensor for each result, got one for results 0 and 1.");
}

TEST_CASE("a joint rule of a hundred inputs gives each its own") {
  List parts;
  for (int i = 0; i < 100; ++i) parts.push_back(i % 3 == 0 ? f64({1}) : leaf({1}, {1}));
  const Tensor all = cat(parts, 0);
  sum(all * arange(0, 100, 1, DType::float64)).backward();
  for (int i = 0; i < 100; ++i) {
    if (i % 3 == 0) continue;
    CHECK(parts[static_cast<size_t>(i)].grad().item() == i);
  }
}

TEST_CASE("record_many: dropping the results frees the rule; no cycles") {
  const auto token = std::make_shared<int>(0);
  const Tensor x = leaf({1}, {1});
  const auto make = [&] {
    return record_many(OpName::custom("pair"), {f64({1}), f64({2})}, {x},
                       [token](const List& g, const List&, Needs) { return List{g[0] + g[1]}; });
  };
  { make(); }
  CHECK(token.use_count() == 1);
  {
    const List out = make();
    sum(out[0] * out[1]).backward();
    CHECK(token.use_count() == 1);  // freed by backward already
  }
  {
    const List out = make();
    const Tensor g = grad({sum(out[0] * out[1])}, {x}, {.create_graph = true})[0];
    CHECK(g.requires_grad());
  }
  CHECK(token.use_count() == 1);
  CHECK(x.impl()->node->use_count() == 2);  // x and its alias
}

}  // namespace gradus::test_record_many

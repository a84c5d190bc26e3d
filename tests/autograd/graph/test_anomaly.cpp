// AnomalyMode: which numbers are anomalies, and what the error says.

#include "autograd/case_checks.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_anomaly {

using namespace gradus::testing;

TEST_CASE("anomaly: the op, its place, the element, and what it was given") {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  CHECK(anomaly_of([&] { log(relu(x - 4.0)) * 2.0; }) ==
        "[anomaly] log must give finite values, got -inf at (0, 0), one of 4 in float64 (2, 2), as op %3 of "
        "its "
        "graph, from: %2 = relu float64 (2, 2), finite. Hint: look for a logarithm, root or quotient of 0 or "
        "below, an overflow, or data that is not finite.");
  CHECK_HAS(anomaly_of([] {
              log(f64({1, 0, -1}));
            }),  // the first NaN before the infinities
            "[anomaly] log must give finite values, got nan at (2,), one of 2 in float64 (3,)");
  CHECK_HAS(anomaly_of([&] { x / (x - 2.0); }),
            "div must give finite values, got inf at (0, 1), in float64 (2, 2), as op %2 of its "
            "graph, from: leaf float64 (2, 2), finite; %1 = sub float64 (2, 2), finite.");
}

TEST_CASE("anomaly: NaN always, also out of data and of infinities that were wanted") {
  const Tensor x = leaf({1, 2}, {2});
  CHECK_HAS(anomaly_of([&] {
              x* f64({1, kNan});
            }),
            "mul must give finite values, got nan at (1,), in float64 (2,), as op %1 of its graph, "
            "from: leaf float64 (2,), finite; constant float64 (2,), holds nan at (1,), in float64 (2,).");
  const Tensor hidden = tensor(std::vector<bool>{true, true}, {2});
  CHECK_HAS(anomaly_of([&] { softmax(masked_fill(x, hidden, -kInf), 0); }), "softmax must give");
  CHECK_HAS(anomaly_of([] { f64({kInf}) - f64({kInf}); }), "sub must give");
}

TEST_CASE("anomaly: infinities that came in or were asked for are none") {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor hidden = tensor(std::vector<bool>{false, true, false, false}, {2, 2});
  CHECK(anomaly_of([&] {
          const auto masked = [&] { return masked_fill(x * 2.0, hidden, -kInf); };
          sum(softmax(masked() * 0.5, -1) * x).backward();  // the mask goes through mul
          sum(safe_softmax(masked(), -1) * x).backward();
          sum(logsumexp(masked(), {1})).backward();
          sum(softmax(x + f64({0, -kInf, 0, 0}, {2, 2}), -1)).backward();  // an additive mask
          sum(exp(masked())).backward();
          sum(where(hidden, full({}, kInf, DType::float64), x).slice(0, 1, 2)).backward();
        }) == "");
  CHECK_HAS(anomaly_of([&] { exp(x * 1000.0); }), "exp must give finite values, got inf");
  CHECK_HAS(anomaly_of([&] { masked_fill(x, hidden, kNan); }), "masked_fill must give");
  CHECK(anomaly_of([&] { masked_fill(x.to(DType::float32), hidden, -1e300); }) == "");  // infinite as float32
}

TEST_CASE("anomaly: what an op is called excuses nothing") {
  const Tensor x = leaf({1, 2}, {2});
  const auto overflow = [&] {
    record("masked_fill", f64({1, kInf}), {{x, [](const Tensor& gy) { return gy; }}});
  };
  CHECK_HAS(anomaly_of(overflow), "masked_fill must give finite values, got inf at (1,)");
}

TEST_CASE("anomaly: a gradient that is not finite where all values are") {
  const Tensor x = leaf({4, 0}, {2});
  CHECK(anomaly_of([&] { sum(sqrt(x * 2.0) * 3.0).backward(); }) ==
        "[anomaly] the gradient rule of sqrt must give finite values, got inf at (1,), in float64 (2,), for "
        "the "
        "input %1 = mul float64 (2,) of %2 = sqrt float64 (2,), from a gradient that is: finite. Hint: look "
        "at the values there: a root, power or quotient at 0, perhaps one that a where() hides.");
  // The trap of where(): the root's gradient at 0 is 0 * inf.
  const Tensor positive = gt(x, 0.0);
  CHECK_HAS(anomaly_of([&] { sum(where(positive, sqrt(x), x)).backward(); }),
            "the gradient rule of sqrt must give finite values, got nan at (1,)");
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("anomaly: what a rule computes on the way and then hides is none") {
  const Tensor x = leaf({0, 2}, {2});
  const Tensor p = leaf({2, 3}, {2});
  CHECK(anomaly_of([&] { sum(pow(x, p)).backward(); }) == "");  // log(0) inside, hidden by a where()
  CHECK(anomaly_of([&] { grad({sum(pow(x, p))}, {x, p}, {.create_graph = true}); }) == "");
  CHECK(difference(p.grad(), f64({0, 8 * std::log(2.0)})) == "");
}

TEST_CASE("anomaly: a cotangent that is not finite is named as what came in") {
  const Tensor x = leaf({1, 2}, {2});
  CHECK_HAS(anomaly_of([&] {
              (x * 2.0).backward(f64({1, kNan}));
            }),
            "the gradient rule of mul must give finite values, got nan at (1,), in float64 (2,), "
            "for the input leaf float64 (2,) of %1 = mul float64 (2,), from a gradient that is: "
            "holds nan at (1,)");
  CHECK(anomaly_of([&] { (x * 2.0).backward(f64({1, kInf})); }) == "");
}

TEST_CASE("anomaly: joint rules, functions of several results, checkpoints and hooks are looked at") {
  using List = std::vector<Tensor>;
  const Tensor x = leaf({1, 2}, {2});
  CHECK_HAS(anomaly_of([&] {
              record(OpName::custom("joint"), f64({1, 2}), {x}, [](const Tensor&, const Tensor&, Needs) {
                return List{f64({1, kInf})};
              }).backward(f64({1, 1}));
            }),
            "the gradient rule of joint must give finite values, got inf at (1,)");
  CHECK_HAS(anomaly_of([&] {
              record_many(OpName::custom("pair"), {f64({1}), f64({kNan})}, {x},
                          [](const List& g, const List&, Needs) { return g; });
            }),
            "pair must give finite values, got nan at (0,)");
  CHECK_HAS(anomaly_of([&] {
              const List out = record_many(OpName::custom("pair"), {f64({1}), f64({2})}, {x},
                                           [](const List&, const List&, Needs) {
                                             return List{f64({kNan, 1})};
                                           });
              sum(out[0]).backward();
            }),
            "the gradient rule of pair must give finite values, got nan at (0,), in float64 (2,), "
            "for the input leaf float64 (2,) of %1 = pair, results: 2");
  CHECK_HAS(anomaly_of([&] { sum(checkpoint([](const Tensor& t) { return sqrt(t - 1.0); }, x)).backward(); }),
            "the gradient rule of sqrt must give finite values, got inf at (0,), in float64 (2,), "
            "for the input sub float64 (2,) of sqrt float64 (2,)");
  CHECK_HAS(anomaly_of([&] {
              const Tensor h = x * 2.0;
              h.register_hook([](const Tensor& g) { return g / 0.0; });
              sum(h).backward();
            }),
            "the hooks of mul float64 (2,) must give finite values, got inf at (0,), one of 2");
}

TEST_CASE("anomaly: off by default, nested, off around an op, of one thread, and off again after an error") {
  CHECK_NOTHROW(log(f64({0})));
  {
    const AnomalyMode on;
    CHECK_THROWS_AS(log(f64({0})), Error);
    {
      const AnomalyMode off(false);
      CHECK_NOTHROW(log(f64({0})));
    }
    CHECK_THROWS_AS(log(f64({0})), Error);
    std::string elsewhere = "not run";
    std::thread([&] { elsewhere = error_of([] { log(f64({0})); }); }).join();
    CHECK(elsewhere.empty());
    // A backward that throws gives the mode back.
    const Tensor x = leaf({0}, {1});
    CHECK_THROWS_AS(sqrt(x).backward(), Error);
    CHECK_THROWS_AS(log(f64({0})), Error);
  }
  CHECK_NOTHROW(log(f64({0})));
}

TEST_CASE("anomaly: no op's case is one, and gradients keep their bits") {
  check_no_anomaly(gradcheck_cases());
}

}  // namespace gradus::test_anomaly

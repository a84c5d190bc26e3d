// gradcheck() names the op whose rule is wrong.
#include "autograd/gradcheck/own_rule.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"

namespace gradus::test_wrong_op {

using namespace gradus::testing;
using Tensors = std::vector<Tensor>;

/// x^2 with this rule.
Tensor faulty(const Tensor& x, const Rule& rule) { return own_op(x, square, rule); }

Tensor doubled(const Tensor& x, const Tensor& gy) { return 4.0 * x * gy; }

GradcheckOp wrong_op(const GradcheckFunction& f, const GradcheckOptions& options = {}, const Tensor& x = kX) {
  const GradcheckReport report = gradcheck(f, {x}, options);
  CHECK_FALSE(report.passed);
  if (report.wrong_op.number > 0)
    CHECK_HAS(report.message,
              concat("; first wrong rule: %", report.wrong_op.number, " = ", report.wrong_op.op));
  return report.wrong_op;
}

TEST_CASE("the wrong op is found among right ones, before, beside and after it; of two, the older") {
  const GradcheckOp op = wrong_op([](const Tensors& in) { return sum(exp(faulty(sin(in[0]), doubled))); });
  CHECK((op.number == 2 && op.order == 1 && op.error.empty()));
  CHECK(op.op == "mine float64 (2, 3)");
  CHECK(op.analytic == Approx(2 * op.numeric));
  const auto beside = [](const Tensors& in) {
    const Tensor x = sin(in[0]), right = exp(x), wrong = faulty(x, doubled);
    return right * wrong + cos(x);
  };
  CHECK(wrong_op(beside).number == 3);
  CHECK(wrong_op([](const Tensors& in) { return faulty(exp(faulty(in[0], doubled)), doubled); }).number == 1);
}

TEST_CASE("an op is found that is wrong at order 2 only") {
  const auto lost = [](const Tensor& x, const Tensor& gy) { return 2.0 * x * gy.detach(); };
  const auto detached = [](const Tensor& x, const Tensor& gy) { return (2.0 * x * gy).detach(); };
  for (const Rule& rule : {Rule(lost), Rule(detached)}) {
    const GradcheckOp op =
        wrong_op([&](const Tensors& in) { return exp(faulty(sin(in[0]), rule)); }, {.order = 2});
    CHECK((op.number == 2 && op.order == 2));
  }
}

TEST_CASE("an op is found whose rule throws") {
  const auto transposed = [](const Tensor& x, const Tensor& gy) { return (2.0 * x * gy).mT(); };
  const GradcheckOp op = wrong_op([&](const Tensors& in) { return exp(faulty(sin(in[0]), transposed)); });
  CHECK(op.number == 2);
  CHECK_HAS(op.error, "must give float64 (2, 3)");
}

TEST_CASE("an op is found whose error only one element shows") {
  const auto second = [](const Tensor& x, const Tensor& gy) {
    return 2.0 * x * gy *
           where(eq(arange(0, 3), 1.0), full({}, 1.0001, DType::float64), full({}, 1.0, DType::float64));
  };
  const auto f = [&](const Tensors& in) { return sum(faulty(in[0] * 1.0, second)); };
  CHECK(wrong_op(f, {}, f64({1e4, 1.0, 2e4})).number == 2);
}

TEST_CASE("an op below masked values is found: infinities that stay are no difference") {
  const auto f = [](const Tensors& in) {
    const Tensor scores = masked_fill(sin(in[0]), eq(arange(0, 3), 2.0), -kInf);
    return faulty(softmax(scores, -1), doubled);
  };
  CHECK(wrong_op(f).number == 4);
}

TEST_CASE("a wrong op in a function of several results or in a checkpoint is found as its result") {
  const auto pair = [](const Tensor& x, double factor) {
    return record_many(
        OpName::custom("pair"), {x.detach() * 2.0, x.detach() * 5.0}, {x},
        [factor](const Tensors& g, const Tensors&, Needs) { return Tensors{g[0] * 2.0 + g[1] * factor}; });
  };
  const GradcheckOp op = wrong_op([&](const Tensors& in) {
    const Tensors both = pair(sin(in[0]), 4.0);
    return both[0] * exp(both[1]);
  });
  CHECK(op.op == "pair[1] float64 (2, 3)");
  const auto inner = [](const Tensor& x) { return faulty(x, doubled); };
  CHECK(wrong_op([&](const Tensors& in) { return exp(checkpoint(inner, sin(in[0]))); }).op ==
        "checkpoint[0] float64 (2, 3)");
}

TEST_CASE("no op is named where none is wrong") {
  Generator generator(1);
  const auto drop = [&](const Tensors& in) { return dropout(in[0], 0.5, generator); };
  CHECK(wrong_op(drop, {}, ones({100}, DType::float64)).number == 0);
  CHECK(wrong_op([](const Tensors&) { return f64({1}); }).number == 0);
  const GradcheckReport right = gradcheck([](const Tensors& in) { return exp(in[0]); }, {kX});
  CHECK(right.wrong_op.number == 0);
}

}  // namespace gradus::test_wrong_op

// The checker names the usual mistakes, sees ignored strides, and is a matcher of Catch2.
#include "autograd/gradcheck/own_rule.hpp"

namespace gradus::test_gradcheck_cause {

using namespace gradus::testing;

const Tensor kSquare = f64({0.3, -1.2, 2.0, 0.7, -0.4, 1.1, 0.9, -0.8, 0.5}, {3, 3});

std::string cause(const GradcheckFunction& f, const Tensor& x = kX) {
  const GradcheckReport report = gradcheck(f, {x});
  CHECK_FALSE(report.passed);
  if (!report.cause.empty()) CHECK_HAS(report.message, "likely cause: " + report.cause);
  return report.cause;
}

TEST_CASE("the usual mistakes are named") {
  const Tensor twice = i64({0, 1, 1, 0});
  const struct {
    std::function<Tensor(In)> values;
    Rule rule;
    const char* cause;
    Tensor x = kX;
  } mistakes[] = {
      {square, [](In x, In gy) { return gy * x; },
       "the gradient is 1/2 times the right one: a wrong factor or divisor"},
      {square, [](In x, In gy) { return -2.0 * gy * x; },
       "the gradient is -1 times the right one: a wrong sign"},
      {square, [](In x, In) { return 2.0 * x; },
       "the gradient does not depend on the upstream gradient: the rule ignores gy"},
      {square, [](In x, In gy) { return 2.0 * gy * gy * x; },
       "twice the upstream gradient gives four times as much: the rule uses gy twice"},
      {square, [](In x, In) { return zeros(x.shape(), DType::float64); },
       "the gradient is 0: an input was detached, or the rule gives zeros"},
      {square, [](In x, In gy) { return gy * x * log(x); },
       "the gradient has NaN or infinities: 0 / 0, 0 * inf, or a root or logarithm of 0"},
      // x @ x^T: d/dx is (gy + gy^T) @ x.
      {[](In x) { return matmul(x, x.mT()); },
       [](In x, In gy) { return matmul(gy + gy.mT(), x).mT().contiguous(); },
       "the gradient is transposed: the order of a product or of two dims is wrong", kSquare},
      {square,
       [](In x, In gy) {
         return (2.0 * gy * x).mT().contiguous().reshape({2, 3});
       },
       "the gradient is transposed: the order of a product or of two dims is wrong"},
      // The rows of a table, taken twice: their gradients must add up.
      {[twice](In x) { return index_select(x, 0, twice); },
       [](In, In gy) { return gy.slice(0, 0, 2).contiguous(); }, "a term is missing or wrong"},
      // A row repeated five times: only the last one's gradient comes back.
      {[](In x) {
         return x.unsqueeze(0).expand({5, 2, 3}).contiguous();
       },
       [](In, In gy) { return gy.select(0, 4).contiguous(); },
       "only index 4 along dim 0 of the result counts: a sum over that dim is missing, or values are "
       "assigned where they should add up"},
      // A sum along the wrong axis of the same size.
      {[](In x) { return sum(x, {1}); },
       [](In x, In gy) { return gy.unsqueeze(0).expand(x.shape()).contiguous(); },
       "the gradient is transposed: the order of a product or of two dims is wrong", kSquare},
      // relu that lets everything pass.
      {[](In x) { return relu(x + 0.5); }, [](In, In gy) { return gy * 1.0; },
       "right at 5 of 6 elements: a bound, a mask, a repeated index or a boundary is treated wrongly"},
      // A mean that divides by the wrong count.
      {[](In x) { return mean(x); }, [](In x, In gy) { return (gy / 3.0).expand(x.shape()).contiguous(); },
       "the gradient is 2 times the right one: a wrong factor or divisor"},
      // softmax's rule without the sum over the row.
      {[](In x) { return softmax(x, 1); }, [](In x, In gy) { return gy * softmax(x, 1); },
       "a term is missing or wrong"},
  };
  for (const auto& mistake : mistakes)
    CHECK(cause(with_rule(mistake.values, mistake.rule), mistake.x) == mistake.cause);
}

TEST_CASE("a right gradient has no cause, and every input is in the report") {
  const auto product = [](const std::vector<Tensor>& in) { return in[0] * in[1]; };
  const GradcheckReport report = gradcheck(product, {kX, kX + 1.0}, {.order = 2});
  CHECK(report.passed);
  CHECK(report.cause.empty());
  REQUIRE(report.inputs.size() == 5);  // two at order 1; they and the cotangent at order 2
  for (const GradcheckInput& input : report.inputs) {
    CHECK((input.worst > 0 && input.worst <= 1 && !input.where.empty()));
    CHECK(std::abs(input.numeric - input.analytic) < 1e-6);
  }
  CHECK(report.inputs[1].input == 1);
  CHECK(report.inputs[4].order == 2);
}

TEST_CASE("a wrong second derivative is explained too") {
  // x^3, whose rule takes x as a constant.
  const auto f = [](const std::vector<Tensor>& in) {
    const Tensor x = in[0], frozen = x.detach();
    return record(OpName::custom("cube"), frozen * frozen * frozen,
                  {{x, [frozen](const Tensor& gy) { return 3.0 * gy * frozen * frozen; }}});
  };
  CHECK(gradcheck(f, {kX}).passed);
  const GradcheckReport report = gradcheck(f, {kX}, {.order = 2});
  CHECK_FALSE(report.passed);
  CHECK(report.cause == "the gradient is 0: an input was detached, or the rule gives zeros");
}

TEST_CASE(
    "the simplest failing input is found: elements are 0 or 1, and dims short where any shape will do") {
  const auto bias = [](const std::vector<Tensor>& in) {  // the sum over rows is lost
    const auto rule = [](const Tensor& gy) { return gy.select(0, 0).contiguous(); };
    return record(OpName::custom("bias"), in[0].detach() + in[1].detach(), {{in[1], rule}});
  };
  const Tensor b = leaf({3, 4, 5}, {3});
  const GradcheckReport fixed = gradcheck(bias, {kX, b}), cut = gradcheck(bias, {kX, b}, {.any_shape = true});
  CHECK(difference(fixed.smallest.at(0), zeros({2, 3}, DType::float64), 0) == "");
  CHECK(cut.smallest.at(0).shape() == Shape{2, 1});
  CHECK(cut.smallest.at(1).shape() == Shape{1});
  CHECK_HAS(cut.message,
            "; simplest failing input: input 0 (2, 1) [0, 0], input 1 (1,) [0]: order 1: input 1");
  CHECK(gradcheck(bias, {kX, b}, {.shrinking = 0}).smallest.empty());
}

TEST_CASE("an op that ignores strides is found") {
  const auto f = [](const std::vector<Tensor>& in) {
    const Tensor x = in[0];
    Tensor y = empty(x.shape(), DType::float64);
    for (int64_t i = 0; i < x.numel(); ++i) y.mutable_data<double>()[i] = 3.0 * x.data<double>()[i];
    return record(OpName::custom("triple"), y, {{x, [](const Tensor& gy) { return 3.0 * gy; }}});
  };
  const GradcheckReport report = gradcheck(f, {kX});
  CHECK_FALSE(report.passed);
  CHECK_HAS(report.message, "with gaps between its elements gives another value: strides are ignored");
  CHECK(report.cause.empty());  // packed, it is right
}

TEST_CASE("PassesGradcheck is a matcher") {
  const auto product = [](const Tensor& a, const Tensor& b) { return a * b; };
  CHECK_THAT(product, PassesGradcheck({kX, kX + 1.0}));
  CHECK_THAT(with_rule(square, [](const Tensor& x, const Tensor& gy) { return 2.0 * gy * x; }),
             PassesGradcheck({kX}));
  const PassesGradcheck matcher({kX});
  CHECK_FALSE(matcher.match(with_rule(square, [](const Tensor& x, const Tensor& gy) { return gy * x; })));
  CHECK_HAS(matcher.toString(), "must pass gradcheck", "1/2 times");
  CHECK_THROWS_WITH(PassesGradcheck({kX}).match(product),
                    "[gradcheck] f must take as many tensors as there are inputs, got 1 inputs.");
}

}  // namespace gradus::test_gradcheck_cause

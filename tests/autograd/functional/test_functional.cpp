// Whole derivatives and their products, against closed forms and each other.
#include "gradus/autograd/functional/functional.hpp"

#include "autograd/compare.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_functional {

using namespace gradus::testing;

using List = std::vector<Tensor>;

Tensor random(const Shape& shape, uint64_t seed) {
  Generator g(seed);
  return randn(shape, g, DType::float64);
}

// x^T A x / 2 + b x has gradient (A + A^T) x / 2 + b and Hessian (A + A^T) / 2.
Tensor quadratic(const Tensor& x) {
  return 0.5 * sum(x * matmul(random({3, 3}, 1), x)) + sum(random({3}, 2) * x);
}

// Two outputs of two inputs: a b^T (2, 3), and sum(a)^2.
List two_by_two(const List& in) {
  const Tensor total = sum(in[0]);
  return {in[0].unsqueeze(1) * in[1].unsqueeze(0), total * total};
}

TEST_CASE(
    "jacobian: linear maps, elementwise functions and softmax have theirs, in the shape of output then "
    "input") {
  const Tensor a = random({2, 3}, 3), x = random({3}, 4), square = random({2, 2}, 5), p = softmax(x, 0);
  const Tensor one = eye(3, DType::float64);
  CHECK(difference(jacobian([&](const Tensor& t) { return matmul(a, t); }, x), a) == "");
  CHECK(difference(jacobian([](const Tensor& t) { return t; }, x), one) == "");
  CHECK(difference(jacobian([](const Tensor& t) { return sum(t); }, x), ones({3}, DType::float64)) == "");
  const Tensor j = jacobian([](const Tensor& t) { return exp(t); }, square);
  REQUIRE(j.shape() == Shape{2, 2, 2, 2});
  CHECK(difference(j.reshape({4, 4}), eye(4, DType::float64) * exp(square).reshape({4})) == "");
  CHECK(difference(jacobian([](const Tensor& t) { return softmax(t, 0); }, x),
                   one * p - p.unsqueeze(1) * p.unsqueeze(0)) == "");
}

TEST_CASE("jacobian: several inputs and outputs, an output that an input does not reach") {
  const Tensor a = f64({2, 3}), b = f64({5, 7, 11});
  const std::vector<List> j = jacobian(two_by_two, {a, b});
  REQUIRE(j.size() == 2);
  REQUIRE(j[0].size() == 2);
  // d a_i b_j / d a_k = b_j if i == k; d a_i b_j / d b_k = a_i if j == k.
  for (const int64_t i : {0, 1})
    for (const int64_t jj : {0, 1, 2}) {
      for (const int64_t k : {0, 1}) CHECK(j[0][0].at({i, jj, k}) == (i == k ? b.at({jj}) : 0.0));
      for (const int64_t k : {0, 1, 2}) CHECK(j[0][1].at({i, jj, k}) == (jj == k ? a.at({i}) : 0.0));
    }
  CHECK(difference(j[1][0], f64({10, 10})) == "");
  CHECK(difference(j[1][1], f64({0, 0, 0})) == "");
  CHECK_ERROR(jacobian(two_by_two, {a, b}, {.strict = true}),
              "[jacobian] every output must depend on every input");
}

TEST_CASE("jacobian: of a constant, of nothing, of a 0-d tensor") {
  const Tensor x = f64({1, 2});
  CHECK(difference(jacobian([](const Tensor&) { return f64({3, 4}); }, x), f64({0, 0, 0, 0}, {2, 2})) == "");
  CHECK(jacobian([](const Tensor& t) { return t.slice(0, 0, 0); }, x).shape() == Shape{0, 2});
  CHECK(jacobian([](const Tensor& t) { return t * 2.0; }, zeros({0}, DType::float64)).shape() == Shape{0, 0});
  const NoGrad off;  // which they do not mind
  CHECK(jacobian([](const Tensor& t) { return t * t; }, f64({3}, {})).item() == 6);
}

TEST_CASE("derivatives are outside the graph, or differentiable with create_graph") {
  const Tensor x = leaf({0.5, -1.0}, {2});
  const auto cube = [](const Tensor& t) { return t * t * t; };
  CHECK_FALSE(jacobian(cube, x).requires_grad());
  CHECK_FALSE(vjp(cube, x, f64({1, 1})).output.requires_grad());
  CHECK_FALSE(x.grad().defined());

  const Tensor j = jacobian(cube, x, {.create_graph = true});  // diag(3 x^2)
  CHECK(difference(grad({sum(j)}, {x})[0], 6.0 * x.detach()) == "");
  const auto p = vjp(cube, x, f64({1, 2}), {.create_graph = true});  // 3 x^2 v
  CHECK(difference(grad({sum(p.product)}, {x})[0], 6.0 * x.detach() * f64({1, 2})) == "");
  // Back to what x was made from.
  const Tensor w = leaf({2}, {});
  const Tensor h = hessian([](const Tensor& t) { return sum(t * t * t); }, w * x, {.create_graph = true});
  CHECK(grad({sum(h)}, {w})[0].item() == Catch::Approx(6.0 * (0.5 - 1.0)));
}

TEST_CASE("the place of their own that inputs get is an alias in the graph") {
  const Tensor x = leaf({0.5, -1.0}, {2});
  const auto p = vjp([](const Tensor& t) { return t * t; }, x, f64({1, 2}), {.create_graph = true});
  CHECK_HAS(graph_text(p.product, {{"x", x}}), "%1 = alias float64 (2,) <- x\n");
}

TEST_CASE("hessian: quadratic forms, several inputs, linear functions") {
  const Tensor a = random({3, 3}, 1), x = random({3}, 7);
  CHECK(difference(hessian(quadratic, x), 0.5 * (a + a.mT())) == "");
  CHECK(difference(hessian([](const Tensor& t) { return sum(t) * 2.0; }, x), zeros({3, 3}, DType::float64)) ==
        "");

  // f = u^2 v (0-d): the Hessian is [[2 v, 2 u], [2 u, 0]].
  const std::vector<List> h =
      hessian([](const List& in) { return in[0] * in[0] * in[1]; }, {f64({3}, {}), f64({5}, {})});
  CHECK(h[0][0].item() == 10);
  CHECK(h[0][1].item() == 6);
  CHECK(h[1][0].item() == 6);
  CHECK(h[1][1].item() == 0);
  CHECK_ERROR(hessian([](const Tensor& t) { return t; }, x),
              "[hessian] the function must give one value, got shape (3,)");
}

TEST_CASE("vjp and jvp are products with the jacobian from either side") {
  const Tensor x = random({4}, 8), v = random({3}, 9), u = random({4}, 10), w = random({3, 4}, 11);
  const auto f = [&](const Tensor& t) { return tanh(matmul(w, t * t)); };
  const Tensor j = jacobian(f, x);
  const auto left = vjp(f, x, v), right = jvp(f, x, u);
  CHECK(difference(left.product, matmul(v, j)) == "");
  CHECK(difference(right.product, matmul(j, u)) == "");
  CHECK(difference(left.output, f(x)) == "");
  CHECK(difference(right.output, f(x)) == "");
  CHECK(difference(vjp(quadratic, random({3}, 7)).product, jacobian(quadratic, random({3}, 7))) == "");
}

TEST_CASE("vjp and jvp of several inputs and outputs") {
  const Tensor a = f64({2, 3}), b = f64({5, 7, 11});
  const std::vector<List> j = jacobian(two_by_two, {a, b});
  const List v = {random({2, 3}, 12), f64({0.5}, {})}, u = {random({2}, 13), random({3}, 14)};
  const auto left = vjp(two_by_two, {a, b}, v), right = jvp(two_by_two, {a, b}, u);
  const Tensor v0 = v[0].reshape({6});
  CHECK(difference(left.products[0], matmul(v0, j[0][0].reshape({6, 2})) + 0.5 * j[1][0]) == "");
  CHECK(difference(left.products[1], matmul(v0, j[0][1].reshape({6, 3}))) == "");
  CHECK(difference(right.products[0], matmul(j[0][0], u[0]) + matmul(j[0][1], u[1])) == "");
  CHECK(difference(right.products[1], matmul(j[1][0], u[0])) == "");
  CHECK(left.outputs.size() == 2);
}

TEST_CASE("jvp of every case of gradcheck agrees with its rules") {
  for (const GradcheckCase& c : gradcheck_cases()) {
    INFO(c.op << ": " << c.name);
    List x, v;
    for (const Tensor& t : c.inputs)
      if (is_floating(t.dtype())) x.push_back(t), v.push_back(random(t.shape(), 17 + x.size()));
    const auto f = [&](const List& floating) {
      List all;
      auto next = floating.begin();
      for (const Tensor& t : c.inputs) all.push_back(is_floating(t.dtype()) ? *next++ : t);
      return List{c.f(all)};
    };
    const List forward = jvp(f, x, v).products, rules = jvp(f, x, v, {.create_graph = true}).products;
    CHECK(difference(forward[0], rules[0], c.op == "to" ? 1e-6 : 1e-11) == "");
  }
}

// e^x whose rule is wrong.
Tensor with_wrong_rule(OpName op, const Tensor& x) {
  return record(op, exp(x.detach()), {{x, [](const Tensor& gy) { return gy * 7.0; }}});
}

TEST_CASE("jvp needs no rule of the library, and takes that of a user's operation") {
  const Tensor x = random({3}, 18), v = random({3}, 19);
  const auto of = [&](OpName op) {
    return jvp([&](const Tensor& t) { return with_wrong_rule(op, t) * 2.0; }, x, v).product;
  };
  CHECK(difference(of("exp"), exp(x) * v * 2.0) == "");
  CHECK(difference(of(OpName::custom("mine")), v * 14.0) == "");
}

TEST_CASE("jvp keeps constant what gradients do not reach, and tensors apart that share memory") {
  const Tensor x = random({3}, 20), v = random({3}, 21), u = random({3}, 22);
  Tensor weight = x.detach().requires_grad_();
  const auto f = [&](const Tensor& t) {
    const Tensor y = t * t;
    return y * y.detach() + y * weight;
  };
  CHECK(difference(jvp(f, x, v).product, 2.0 * x * (x * x + x) * v) == "");
  const auto g = [](const List& in) { return List{in[0] * exp(in[1])}; };
  CHECK(difference(jvp(g, {x, x}, {u, v}).products[0], exp(x) * (u + x * v)) == "");
  const auto h = [](const List& in) {
    return List{checkpoint([](const Tensor& t) { return sin(t); }, in[0])};
  };
  CHECK(difference(jvp(h, {x}, {v}).products[0], cos(x) * v) == "");
  const Tensor single = x.to(DType::float32);
  CHECK(difference(jvp([](const Tensor& t) { return tanh(t); }, single, v.to(DType::float32)).product,
                   (v * (1.0 - pow(tanh(x), 2.0))).to(DType::float32), 1e-6) == "");
}

TEST_CASE("hvp is the product with the hessian") {
  const Tensor x = random({3}, 15), v = random({3}, 16);
  const auto f = [](const Tensor& t) { return sum(exp(t * t)) + sin(sum(t)); };
  const auto p = hvp(f, x, v);
  CHECK(difference(p.product, matmul(hessian(f, x), v)) == "");
  CHECK(difference(p.output, f(x)) == "");

  const auto g = [](const List& in) { return sum(in[0] * in[0]) * sum(in[1]); };
  const List in = {f64({1, 2}), f64({3})}, vs = {f64({0.5, -1}), f64({2})};
  const auto ps = hvp(g, in, vs);
  // H = [[2 sum(b) I, 2 a], [2 a^T, 0]]
  CHECK(difference(ps.products[0], f64({6 * 0.5 + 2 * 1 * 2, 6 * -1.0 + 2 * 2 * 2})) == "");
  CHECK(difference(ps.products[1], f64({2 * 1 * 0.5 + 2 * 2 * -1.0})) == "");
  CHECK(difference(hvp([](const Tensor& t) { return sum(t); }, x, v).product, zeros({3}, DType::float64)) ==
        "");
}

TEST_CASE("wrong vectors, integers and undefined results are refused by name") {
  const Tensor x = f64({1, 2});
  const auto f = [](const Tensor& t) { return t * t; };
  CHECK_ERROR(vjp(f, x), "[vjp] needs a vector for an output of shape (2");
  CHECK_ERROR(vjp(f, x, f64({1})), "[vjp] vector 0 must be float64 (2,), got float64 (1,).");
  CHECK_ERROR(jvp(f, x, ones({2})), "[jvp] vector 0 must be float64 (2,), got float32 (2,).");
  CHECK_ERROR(hvp(quadratic, f64({1, 2, 3}), Tensor()), "[hvp] vector 0 must be float64 (3,), got none.");
  CHECK_ERROR(jacobian(f, i64({1, 2})), "[jacobian] input 0 must hold float32 or float64 values, got int64.");
  CHECK_ERROR(jacobian([](const Tensor&) { return Tensor(); }, x),
              "[jacobian] the function must give defined tensors, got none at 0.");
  CHECK_ERROR(vjp([](const List& in) { return in; }, {x}, {f64({1, 1}), f64({1, 1})}),
              "[vjp] needs 1 vectors, got 2.");
}

}  // namespace gradus::test_functional

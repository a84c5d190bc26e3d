// Dumps of the graph.
#include "autograd/compare.hpp"
#include "autograd/small_stack.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_graph_text {

using namespace gradus::testing;

Tensor example(const Tensor& x, const Tensor& w) {
  const Tensor e = exp(x * w);  // in steps: C++ leaves the order of operands open
  return sum(e + x * 2.0);
}

TEST_CASE("graph_text: leaves by name or number, ops with shapes, oldest first") {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3}), w = leaf({1, 2, 3}, {3});
  const std::string expected =
      "leaf1 = leaf float64 (2, 3)\n"
      "w = leaf float64 (3,)\n"
      "%1 = mul float64 (2, 3) <- leaf1, w\n"
      "%2 = exp float64 (2, 3) <- %1\n"
      "%3 = mul float64 (2, 3) <- leaf1\n"
      "%4 = add float64 (2, 3) <- %2, %3\n"
      "%5 = sum float64 () <- %4\n";
  CHECK(graph_text(example(x, w), {{"w", w}, {"unused", leaf({1}, {1})}}) == expected);
  CHECK(graph_text(example(x, w), {{"w", w}}) == expected);  // another graph, the same computation
}

TEST_CASE("graph_text: a tensor used twice, hooks, freed graphs, a lone leaf, several outputs") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor y = x * x;
  y.register_hook([](const Tensor&) {});
  const Tensor loss = sum(y);
  CHECK(graph_text({y, loss}) ==
        "leaf1 = leaf float64 (2,)\n"
        "%1 = mul float64 (2,), 1 hook <- leaf1, leaf1\n"
        "%2 = sum float64 () <- %1\n");
  loss.backward();
  CHECK(graph_text(loss) ==
        "leaf1 = leaf float64 (2,)\n"
        "%1 = mul float64 (2,), 1 hook, freed <- leaf1, leaf1\n"
        "%2 = sum float64 (), freed <- %1\n");
  CHECK(graph_text(x, {{"x", x}}) == "x = leaf float64 (2,)\n");
  CHECK_ERROR(graph_text(f64({1})), "[graph] needs a tensor that requires a gradient.");
}

TEST_CASE("graph_text: functions of several results") {
  const Tensor x = leaf({1, 2}, {2});
  const std::vector<Tensor> out =
      record_many(OpName::custom("pair"), {f64({1}), f64({2, 3})}, {x},
                  [](const std::vector<Tensor>& g, const std::vector<Tensor>&, Needs) { return g; });
  CHECK(graph_text(out[0] * out[1]) ==
        "leaf1 = leaf float64 (2,)\n"
        "%1 = pair, results: 2 <- leaf1\n"
        "%2 = pair[0] float64 (1,) <- %1\n"
        "%3 = pair[1] float64 (2,) <- %1\n"
        "%4 = mul float64 (2,) <- %2, %3\n");
}

TEST_CASE(
    "graph_dot: a box for each op, an ellipse for each leaf, an arrow for each use; names are escaped") {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3}), w = leaf({1, 2, 3}, {3});
  CHECK(graph_dot(example(x, w), {{"a \"quoted\\name\"", w}}) ==
        "digraph gradus {\n"
        "  node [shape=box];\n"
        "  n0 [shape=ellipse, label=\"leaf1\\nfloat64 (2, 3)\"];\n"
        "  n1 [shape=ellipse, label=\"a \\\"quoted\\\\name\\\"\\nfloat64 (3,)\"];\n"
        "  n2 [label=\"%1\\nmul float64 (2, 3)\"];\n"
        "  n0 -> n2;\n"
        "  n1 -> n2;\n"
        "  n3 [label=\"%2\\nexp float64 (2, 3)\"];\n"
        "  n2 -> n3;\n"
        "  n4 [label=\"%3\\nmul float64 (2, 3)\"];\n"
        "  n0 -> n4;\n"
        "  n5 [label=\"%4\\nadd float64 (2, 3)\"];\n"
        "  n3 -> n5;\n"
        "  n4 -> n5;\n"
        "  n6 [label=\"%5\\nsum float64 ()\"];\n"
        "  n5 -> n6;\n"
        "}\n");
  CHECK_HAS(graph_dot(x * x), "  n0 -> n1;\n  n0 -> n1;\n");
}

TEST_CASE("dumps of deep graphs do not recurse") {
  size_t lines = 0, dots = 0;
  run_on_small_stack([&] {
    Tensor y = full({}, 0.5, DType::float64).requires_grad_();
    for (int i = 0; i < 20'000; ++i) y = neg(y);
    const std::string text = graph_text(y);
    lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    dots = graph_dot(y).size();
  });
  CHECK(lines == 20'001);
  CHECK(dots > 20'000 * 20);
}

}  // namespace gradus::test_graph_text

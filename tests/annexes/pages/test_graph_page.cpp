// graph_json() and graph_html(): values and gradients at the vertices against direct computation.
#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/annexes/pages/frame.hpp"
#include "gradus/annexes/pages/graph_html.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_graph_page {

using namespace gradus::testing;
using nlohmann::json;
using Numbers = std::vector<double>;

json nodes_of(const Tensor& y, const LeafNames& names = {}) {
  return json::parse(graph_json(y, names)).at("nodes");
}

Numbers values_of(const json& tensor) { return tensor.at("values").get<Numbers>(); }

/// Whether the numbers agree within 1e-12.
bool agree(const Numbers& a, const Numbers& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::abs(x - y) <= 1e-12 * std::max(1.0, std::abs(y)); });
}

TEST_CASE("graph_json: vertices, edges, values and gradients") {
  const Numbers xs{0.5, -1, 2, 0.25, 1.5, -0.75}, ws{1, 2, -1};
  const Tensor x = leaf(xs, {2, 3}), w = leaf(ws, {3});
  const KeepValues on;
  const Tensor loss = sum(exp(x * w));
  const json nodes = nodes_of(loss, {{"x", x}});

  Numbers products, exponentials, gx, gw(3);
  for (size_t i = 0; i < 6; ++i) {
    products.push_back(xs[i] * ws[i % 3]);
    exponentials.push_back(std::exp(products[i]));
    gx.push_back(ws[i % 3] * exponentials[i]);
    gw[i % 3] += xs[i] * exponentials[i];
  }
  const double total = std::accumulate(exponentials.begin(), exponentials.end(), 0.0);
  struct Vertex {
    const char *name, *op, *kind;
    std::vector<int> shape, inputs;
    Numbers value, gradient;
  };
  const std::vector<Vertex> expected{{"x", "leaf", "leaf", {2, 3}, {}, xs, gx},
                                     {"leaf2", "leaf", "leaf", {3}, {}, ws, gw},
                                     {"%1", "mul", "op", {2, 3}, {0, 1}, products, exponentials},
                                     {"%2", "exp", "op", {2, 3}, {2}, exponentials, Numbers(6, 1.0)},
                                     {"%3", "sum", "op", {}, {3}, {total}, {1}}};
  REQUIRE(nodes.size() == expected.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    INFO(nodes[i].dump());
    CHECK(nodes[i].at("name") == expected[i].name);
    CHECK(nodes[i].at("op") == expected[i].op);
    CHECK(nodes[i].at("kind") == expected[i].kind);
    CHECK(nodes[i].at("shape") == expected[i].shape);
    CHECK(nodes[i].at("inputs") == expected[i].inputs);
    CHECK(agree(values_of(nodes[i].at("value")), expected[i].value));
    CHECK(agree(values_of(nodes[i].at("gradient")), expected[i].gradient));
  }
  CHECK(nodes[2].at("text") == "mul float64 (2, 3)");
  CHECK_FALSE(x.grad().defined());
  loss.backward();  // the graph is still there
  CHECK(agree(x.grad().to_vector<double>(), gx));
}

TEST_CASE("graph_json: without KeepValues, the values that rules need") {
  const Tensor x = leaf({1, 2}, {2});
  const json nodes = nodes_of(sum(exp(x * 3.0)), {{"x", x}});
  CHECK(values_of(nodes[0].at("value")) == Numbers{1, 2});
  CHECK(nodes[1].at("value").is_null());
  CHECK(agree(values_of(nodes[2].at("value")), {std::exp(3.0), std::exp(6.0)}));
  CHECK_FALSE(nodes[3].at("value").is_null());  // it is the argument
  CHECK(agree(values_of(nodes[1].at("gradient")), {std::exp(3.0), std::exp(6.0)}));
  CHECK(nodes_of(sum(x * 3.0))[0].at("value").is_null());
}

TEST_CASE("graph_json: a value that was overwritten is not shown") {
  Tensor x = leaf({1, 2}, {2});
  const KeepValues on;
  const Tensor loss = sum(x + 1.0);
  x.fill_(7);
  CHECK(nodes_of(loss)[0].at("value").is_null());
  CHECK(values_of(nodes_of(loss)[0].at("gradient")) == Numbers{1, 1});
}

TEST_CASE("graph_json: backward frees the values with the graph") {
  const Tensor x = leaf({1, 2}, {2});
  const KeepValues on;
  const Tensor product = x * 3.0, loss = sum(product);
  CHECK(autograd::value_of(*product.impl()->node).defined());
  loss.backward();
  CHECK_FALSE(autograd::value_of(*product.impl()->node).defined());
  CHECK_ERROR(graph_json(loss), "the graph was freed");
}

TEST_CASE("graph_json: the extent of a tensor, and the corner of a large one") {
  Numbers values(3 * 70 * 80);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) - 1000;
  values[5] = kNan;
  values[6] = kInf;
  values[7] = -kInf;
  const Tensor x = leaf(values, {3, 70, 80});
  const json value = nodes_of(sum(x * 2.0), {{"x", x}})[0].at("value");
  double total = 0, squares = 0;
  for (const double v : values)
    if (std::isfinite(v)) {
      total += v;
      squares += v * v;
    }
  CHECK(value.at("nan") == 1);
  CHECK(value.at("inf") == 2);
  CHECK(value.at("min") == -1000);
  CHECK(value.at("max") == 15799);
  CHECK(agree({value.at("mean"), value.at("norm")}, {total / (3 * 70 * 80 - 3), std::sqrt(squares)}));
  CHECK_FALSE(value.contains("values"));
  REQUIRE(value.at("slice").size() == 64);
  for (size_t i = 0; i < 64; ++i) {
    REQUIRE(value.at("slice")[i].size() == 64);
    for (size_t j = 0; j < 64; ++j) {
      const double v = values[i * 80 + j];
      if (std::isfinite(v)) CHECK(value.at("slice")[i][j].get<double>() == Approx(v).epsilon(5e-4));
    }
  }
  CHECK(value.at("slice")[0][5] == "nan");
  CHECK(value.at("slice")[0][6] == "inf");
  CHECK(value.at("slice")[0][7] == "-inf");
  const json vector = nodes_of(sum(x.reshape({-1}) * 2.0));
  CHECK(vector[1].at("gradient").at("slice").size() == 1);
}

TEST_CASE("graph_json: functions of several results and checkpoints") {
  const Tensor x = leaf({3, 4}, {2});
  const KeepValues on;
  const auto pair = [](const Tensor& t) {
    return record_many(OpName::custom("pair"), {t.detach() * 2.0, t.detach() * 5.0}, {t},
                       [](const std::vector<Tensor>& g, const std::vector<Tensor>&, Needs) {
                         return std::vector<Tensor>{g[0] * 2.0 + g[1] * 5.0};
                       });
  };
  const std::vector<Tensor> both = pair(x);
  const json nodes = nodes_of(sum(both[0] * both[1]));
  CHECK(nodes[1].at("kind") == "multi_output");
  CHECK(nodes[1].at("value").is_null());
  CHECK(nodes[1].at("gradient").is_null());
  CHECK(nodes[2].at("kind") == "result");
  CHECK(values_of(nodes[2].at("value")) == Numbers{6, 8});
  CHECK(values_of(nodes[2].at("gradient")) == Numbers{15, 20});
  CHECK(values_of(nodes[0].at("gradient")) == Numbers{60, 80});

  const json recomputed = nodes_of(sum(checkpoint([](const Tensor& t) { return t * t; }, x)));
  CHECK(values_of(recomputed[2].at("value")) == Numbers{9, 16});
  CHECK(values_of(recomputed[0].at("gradient")) == Numbers{6, 8});
}

TEST_CASE("graph_html: the page that the program would write, with text that stays text") {
  const Tensor x = leaf({1, 2}, {2});
  const KeepValues on;
  const LeafNames names{{"</script><b>\"\\\n", x}};
  const Tensor loss = sum(x * x);
  const std::string graph = graph_json(loss, names), page = graph_html(loss, names);
  CHECK(json::parse(graph).at("nodes")[0].at("name") == names[0].first);
  CHECK(page.find("</script><b>") == page.npos);
  const std::string data = concat("{\"title\":\"Graph of a gradient\",\"graphs\":[", graph, "]}");
  CHECK(page == pages::html({"gradcheck", "Graph of a gradient", data, {pages::embedded_file("graph.js")}}));
}

TEST_CASE("graph_json refuses what has no gradient") {
  const Tensor x = leaf({1, 2}, {2});
  CHECK_ERROR(graph_json(f64({1})), "[graph] needs a tensor that requires a gradient.");
  CHECK_ERROR(graph_html(x * x), "needs a scalar, got shape (2,)");
}

TEST_CASE("graph_json of a check: the report, the gradients for its cotangent, and the wrong op") {
  const auto tripled = [](const Tensor& x) {  // with the gradient of 4 x
    return record(OpName::custom("tripled"), x.detach() * 3.0,
                  {{x, [](const Tensor& gy) { return 4.0 * gy; }}});
  };
  const auto f = [&](const std::vector<Tensor>& in) { return exp(tripled(sin(in[0]))); };
  json graph;
  const auto inspect = [&](const CheckedGraph& g) {
    graph = json::parse(graph_json(g));
    CHECK(values_of(graph.at("nodes").back().at("gradient")) == g.cotangent.to_vector<double>());
    CHECK_HAS(graph_html(g), graph_json(g));
  };
  const GradcheckReport report = gradcheck(f, {f64({0.5, 1, 1.5})}, {.inspect = inspect, .names = {"angle"}});
  CHECK_FALSE(report.passed);
  const json& check = graph.at("check");
  CHECK(check.at("passed") == false);
  CHECK(check.at("message") == report.message);
  CHECK(check.at("checks") == report.checks);
  CHECK(check.at("inputs")[0].at("name") == "angle");
  CHECK(check.at("inputs")[0].at("analytic") == report.inputs[0].analytic);
  const json& wrong = check.at("wrong_op");
  CHECK(graph.at("nodes")[wrong.at("node").get<size_t>()].at("op") == "tripled");
  CHECK(wrong.at("analytic").get<double>() == Approx(4.0 / 3.0 * wrong.at("numeric").get<double>()));
  CHECK(graph.at("nodes")[0].at("name") == "angle");

  const auto right = [](const std::vector<Tensor>& in) { return exp(sin(in[0])); };
  CHECK(gradcheck(right, {f64({0.5, 1})}, {.inspect = inspect}));
  CHECK(graph.at("check").at("passed") == true);
  CHECK(graph.at("check").at("wrong_op").is_null());
}

TEST_CASE("graph_json of a check that cannot compute gradients") {
  json graph;
  const GradcheckOptions options{
      .inspect = [&](const CheckedGraph& g) { graph = json::parse(graph_json(g)); }};
  const auto throws = [](const std::vector<Tensor>& in) {
    return record(OpName::custom("throws"), in[0].detach(),
                  {{in[0], [](const Tensor&) -> Tensor { fail("throws", "has no rule."); }}});
  };
  gradcheck(throws, {f64({1, 2})}, options);
  CHECK(graph.at("nodes")[0].at("gradient").is_null());
  CHECK(values_of(graph.at("nodes")[0].at("value")) == Numbers{1, 2});
  CHECK(graph.at("check").at("wrong_op").at("error") == "[throws] has no rule.");
  gradcheck([](const std::vector<Tensor>&) { return f64({1}); }, {f64({1, 2})}, options);
  CHECK(graph.at("nodes").empty());
  CHECK_HAS(graph.at("check").at("message").get<std::string>(), "requires no gradient");
}

}  // namespace gradus::test_graph_page

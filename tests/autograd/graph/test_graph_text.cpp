// Dumps of the graph: golden text, and DOT that a small parser accepts.
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

// The subset of DOT's grammar that we write:
//   digraph ID { (node [attributes]; | ID [attributes]; | ID -> ID;)* }
// Throws if the text is not in it.
class DotParser {
 public:
  explicit DotParser(const std::string& text) : text_(text) {
    expect("digraph");
    word();
    expect("{");
    while (!accept("}")) statement();
    skip_space();
    if (at_ != text_.size()) fail("dot", "text after the end.");
    for (const auto& [from, to] : edges)
      if (!labels.count(from) || !labels.count(to)) fail("dot", "an edge of an unknown node.");
  }
  std::map<std::string, std::string> labels;
  std::multiset<std::pair<std::string, std::string>> edges;

 private:
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(const std::string& token) {
    skip_space();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }
  void expect(const std::string& token) {
    if (!accept(token)) fail("dot", "expected ", token, " at ", text_.substr(at_, 20));
  }
  std::string word() {
    skip_space();
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    if (start == at_) fail("dot", "expected a word at ", text_.substr(at_, 20));
    return text_.substr(start, at_ - start);
  }
  std::string value() {
    if (!accept("\"")) return word();
    std::string s;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\n') fail("dot", "a line break in a string.");
      if (text_[at_] == '\\') s += text_[at_++];
      s += text_[at_++];
    }
    expect("\"");
    return s;
  }
  void statement() {
    const std::string id = word();
    if (accept("->")) {
      edges.emplace(id, word());
    } else {
      expect("[");
      do {
        const std::string key = word();
        expect("=");
        const std::string v = value();
        if (key == "label") labels[id] = v;
      } while (accept(","));
      expect("]");
    }
    expect(";");
  }
  std::string text_;
  size_t at_ = 0;
};

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

TEST_CASE("graph_dot: parses, with the same vertices and edges; names are escaped") {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3}), w = leaf({1, 2, 3}, {3});
  const DotParser dot(graph_dot(example(x, w), {{"a \"quoted\\name\"", w}}));
  CHECK(dot.labels.size() == 7);
  CHECK(dot.edges.size() == 7);
  CHECK(dot.labels.at("n0") == "leaf1\\nfloat64 (2, 3)");
  CHECK(dot.labels.at("n1") == "a \\\"quoted\\\\name\\\"\\nfloat64 (3,)");
  CHECK(dot.labels.at("n6") == "%5\\nsum float64 ()");
  CHECK(dot.edges.count({"n0", "n2"}) == 1);
  CHECK(dot.edges.count({"n5", "n6"}) == 1);
  const Tensor square = x * x;
  CHECK(DotParser(graph_dot(square)).edges.count({"n0", "n1"}) == 2);
}

TEST_CASE("the small parser of DOT refuses what is not DOT") {
  for (const char* bad : {"digraph {}", "digraph g { n0 [label=\"x\"] }", "digraph g { n0 -> n1; }",
                          "digraph g { n0 [label=\"x]; }", "digraph g {} }", "graph g {}"})
    CHECK(error_of([&] { DotParser{bad}; }) != "");
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

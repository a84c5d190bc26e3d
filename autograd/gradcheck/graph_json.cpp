#include <algorithm>
#include <charconv>
#include <cmath>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/listing.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus {
namespace {

using autograd::Listing;
using autograd::Node;

constexpr int64_t kMostValues = 256;  // of a tensor that is given in full
constexpr int64_t kMostCells = 64;    // along each dimension of the slice of a larger one

constexpr std::string_view kKinds[] = {"leaf", "op", "multi_output", "result"};  // as Node::Kind

// A string of JSON, in which no character opens an element of HTML.
std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == '<') {
      constexpr std::string_view kDigits = "0123456789abcdef";
      json += "\\u00";
      json += kDigits[static_cast<size_t>(c) / 16];
      json += kDigits[static_cast<size_t>(c) % 16];
    } else {
      json += c;
    }
  }
  return json + '"';
}

// With `digits` significant digits; 0: the fewest that identify the number.
std::string number(double x, int digits = 0) {
  if (!std::isfinite(x)) return std::isnan(x) ? "\"nan\"" : x > 0 ? "\"inf\"" : "\"-inf\"";
  char text[40];
  char* const end = text + sizeof text;
  const auto written = digits == 0 ? std::to_chars(text, end, x)
                                   : std::to_chars(text, end, x, std::chars_format::general, digits);
  return {text, written.ptr};
}

// [a,b,...]: the texts of the elements.
template <class List, class Text>
std::string list(const List& elements, const Text& text) {
  std::string json = "[";
  for (const auto& element : elements) {
    if (json.size() > 1) json += ',';
    json += text(element);
  }
  return json + ']';
}

// Counts and norms over all elements, and the values: all of them, or the first ones of a large tensor.
std::string tensor_json(const Tensor& t) {
  if (!t.defined()) return "null";
  const std::vector<double> values = t.detach().to(DType::float64).to_vector<double>();
  double low = std::nan(""), high = low, sum = 0, squares = 0;
  int64_t nans = 0, infinities = 0, finite = 0;
  for (const double x : values) {
    nans += std::isnan(x) ? 1 : 0;
    infinities += std::isinf(x) ? 1 : 0;
    if (!std::isfinite(x)) continue;
    ++finite;
    low = std::fmin(low, x);
    high = std::fmax(high, x);
    sum += x;
    squares += x * x;
  }
  std::string json = concat("{\"nan\":", nans, ",\"inf\":", infinities);
  if (finite > 0)
    json += concat(",\"min\":", number(low), ",\"max\":", number(high),
                   ",\"mean\":", number(sum / static_cast<double>(finite)),
                   ",\"norm\":", number(std::sqrt(squares)));
  if (t.numel() <= kMostValues)
    return json + ",\"values\":" + list(values, [](double x) { return number(x); }) + '}';
  const int64_t columns = t.size(-1), rows = t.dim() > 1 ? t.size(-2) : 1;
  std::vector<size_t> row_starts;
  for (int64_t i = 0; i < std::min(rows, kMostCells); ++i)
    row_starts.push_back(static_cast<size_t>(i * columns));
  const auto row = [&](size_t start) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(start);
    return list(std::vector(first, first + std::min(columns, kMostCells)),
                [](double x) { return number(x, 4); });
  };
  return json + ",\"slice\":" + list(row_starts, row) + '}';
}

std::string check_json(const CheckedGraph& graph, size_t leaves) {
  const GradcheckReport& r = graph.report;
  const auto flag = [](bool on) { return on ? "true" : "false"; };
  const auto input = [&](const GradcheckInput& i) {
    const std::string name = i.input < graph.names.size()
                                 ? graph.names[i.input].first
                                 : concat("cotangent ", i.input - graph.names.size());
    return concat("{\"name\":", json_string(name), ",\"order\":", i.order, ",\"worst\":", number(i.worst),
                  ",\"where\":", json_string(i.where), ",\"numeric\":", number(i.numeric),
                  ",\"analytic\":", number(i.analytic), "}");
  };
  std::string wrong = "null";
  if (const GradcheckOp& op = r.wrong_op; op.number > 0)
    wrong = concat("{\"node\":", leaves + op.number - 1, ",\"order\":", op.order,
                   ",\"numeric\":", number(op.numeric), ",\"analytic\":", number(op.analytic),
                   ",\"error\":", json_string(op.error), "}");
  return concat("{\"passed\":", flag(r.passed), ",\"checks\":", r.checks, ",\"worst\":", number(r.worst),
                ",\"message\":", json_string(r.message), ",\"cause\":", json_string(r.cause),
                ",\"wrong_op\":", wrong, ",\"inputs\":", list(r.inputs, input), "}");
}

// The values and gradients at the vertices of a graph.
struct Vertices {
  Vertices(const Tensor& y, const LeafNames& names) : graph({y}, names) {
    for (const Node* node : graph.nodes) {
      tensors.push_back(autograd::tensor_at(*node));
      values.push_back(autograd::value_of(*node));
    }
    gradients.resize(values.size());
    for (const auto& [name, leaf] : names)
      if (leaf.defined() && leaf.requires_grad() && graph.has(leaf.impl()->node.get()))
        values[graph.id(leaf.impl()->node.get())] = leaf;
    values[graph.id(y.impl()->node.get())] = y;
  }

  std::string json() const {
    std::string text = "[";
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = *graph.nodes[i];
      const auto input = [&](const autograd::Edge& e) { return std::to_string(graph.id(e.to.get())); };
      std::vector<std::reference_wrapper<const autograd::Edge>> edges;
      for (const autograd::Edge& e : node.edges)
        if (e.to) edges.emplace_back(e);
      const auto size = [](int64_t n) { return std::to_string(n); };
      text += concat(i == 0 ? "" : ",", "\n{\"name\":", json_string(graph.name(&node)),
                     ",\"op\":", json_string(node.op), ",\"kind\":\"", kKinds[static_cast<size_t>(node.kind)],
                     "\"", ",\"text\":", json_string(autograd::describe(node)),
                     ",\"shape\":", list(node.shape, size), ",\"inputs\":", list(edges, input),
                     ",\"value\":", tensor_json(values[i]), ",\"gradient\":", tensor_json(gradients[i]), "}");
    }
    return text + "\n]";
  }

  Listing graph;
  std::vector<Tensor> tensors, values, gradients;
};

}  // namespace

std::string graph_json(const Tensor& y, const LeafNames& names) {
  Vertices vertices(y, names);
  vertices.gradients = grad({y}, vertices.tensors, {.retain_graph = true, .allow_unused = true});
  return concat("{\"nodes\":", vertices.json(), "}");
}

std::string graph_json(const CheckedGraph& graph) {
  std::string nodes = "[]";
  size_t leaves = 0;
  if (graph.result.requires_grad()) {
    Vertices vertices(graph.result, graph.names);
    leaves = vertices.graph.leaves.size();
    try {
      vertices.gradients =
          grad({graph.result}, vertices.tensors,
               {.grad_outputs = {graph.cotangent}, .retain_graph = true, .allow_unused = true});
    } catch (const Error&) {  // of a rule: the report tells of it
    }
    nodes = vertices.json();
  }
  return concat("{\"nodes\":", nodes, ",\"check\":", check_json(graph, leaves), "}");
}

}  // namespace gradus

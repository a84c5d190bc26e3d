#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/listing.hpp"

namespace gradus {

using autograd::Edge;
using autograd::Listing;
using autograd::Node;

namespace {

std::string remarks(const Node& node) {
  std::string text;
  if (node.hooks && !node.hooks->empty())
    text += concat(", ", node.hooks->size(), node.hooks->size() == 1 ? " hook" : " hooks");
  if (node.released) text += ", freed";
  return text;
}

// A label of two lines, as a string of DOT.
std::string label(const std::string& first_line, const std::string& second_line) {
  std::string text = "\"";
  for (const std::string& line : {first_line, "\n" + second_line})
    for (const char c : line) {
      if (c == '"' || c == '\\') text += '\\';
      text += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
  return text + '"';
}

}  // namespace

std::string graph_text(const std::vector<Tensor>& ys, const LeafNames& names) {
  const Listing graph(ys, names);
  std::ostringstream text;
  for (const Node* leaf : graph.leaves)
    text << graph.name(leaf) << " = " << describe(*leaf) << remarks(*leaf) << "\n";
  for (const Node* op : graph.ops) {
    text << graph.name(op) << " = " << describe(*op) << remarks(*op);
    const char* separator = " <- ";
    for (const Edge& e : op->edges) {
      if (!e.to) continue;
      text << separator << graph.name(e.to.get());
      separator = ", ";
    }
    text << "\n";
  }
  return text.str();
}

std::string graph_dot(const std::vector<Tensor>& ys, const LeafNames& names) {
  const Listing graph(ys, names);
  std::ostringstream text;
  text << "digraph gradus {\n  node [shape=box];\n";
  for (const Node* leaf : graph.leaves)
    text << "  n" << graph.id(leaf) << " [shape=ellipse, label="
         << label(graph.name(leaf), concat(name(leaf->dtype), " ", leaf->shape, remarks(*leaf))) << "];\n";
  for (const Node* op : graph.ops) {
    text << "  n" << graph.id(op) << " [label=" << label(graph.name(op), describe(*op) + remarks(*op))
         << "];\n";
    for (const Edge& e : op->edges)
      if (e.to) text << "  n" << graph.id(e.to.get()) << " -> n" << graph.id(op) << ";\n";
  }
  text << "}\n";
  return text.str();
}

}  // namespace gradus

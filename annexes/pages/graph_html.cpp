#include "gradus/annexes/pages/graph_html.hpp"

#include <nlohmann/json.hpp>

#include "gradus/annexes/pages/frame.hpp"

namespace gradus {
namespace {

constexpr const char* kTitle = "Graph of a gradient";

}  // namespace

std::string pages::graphs_html(const std::string& title, const std::string& graphs) {
  const std::string data = "{\"title\":" + nlohmann::json(title).dump() + ",\"graphs\":" + graphs + "}";
  return html({.verb = "gradcheck", .title = title, .data = data, .scripts = {embedded_file("graph.js")}});
}

std::string graph_html(const Tensor& y, const LeafNames& names) {
  return pages::graphs_html(kTitle, "[" + graph_json(y, names) + "]");
}

std::string graph_html(const CheckedGraph& graph) {
  return pages::graphs_html(kTitle, "[" + graph_json(graph) + "]");
}

}  // namespace gradus

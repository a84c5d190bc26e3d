// Pages of graphs: values, gradients and rules at each vertex, for any browser. Thread-safe: no state.
#pragma once

#include <string>

#include "gradus/autograd/gradcheck/gradcheck.hpp"

namespace gradus {

/// A page of graph_json(): `std::ofstream("graph.html") << graph_html(loss)`. Throws Error as graph_json().
std::string graph_html(const Tensor& y, const LeafNames& names = {});
/// The same of a check:
///
///     const auto write = [](const CheckedGraph& g) { std::ofstream("f.html") << graph_html(g); };
///     gradcheck(f, {x}, {.inspect = write});
std::string graph_html(const CheckedGraph& graph);

namespace pages {
/// The page of several graphs: `graphs` is an array of graph_json() in JSON.
std::string graphs_html(const std::string& title, const std::string& graphs);
}  // namespace pages

}  // namespace gradus

// The recorded graph as text, to read or to draw.
//
//   x = leaf float64 (2, 3)              a leaf, by its name
//   %1 = exp float64 (2, 3) <- x         op number 1, oldest first; only inputs that gradients flow to
//   %2 = sum float64 () <- %1
//
// Deterministic: the same computation gives the same text. Of any depth: nothing recurses. Works on a graph
// that backward has freed, too ("freed" stands behind its ops). Thread-safety: reads the graph.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// Names for leaves, as Module::named_parameters() gives them; others are leaf1, leaf2, ... by first use.
using LeafNames = std::vector<std::pair<std::string, Tensor>>;

/// One line a leaf, then one line an op. Throws Error if y requires no gradient.
std::string graph_text(const Tensor& y, const LeafNames& names = {});
std::string graph_text(const std::vector<Tensor>& ys, const LeafNames& names = {});

/// The same in the DOT language: `dot -Tsvg`. Arrows point the way values flow.
std::string graph_dot(const Tensor& y, const LeafNames& names = {});
std::string graph_dot(const std::vector<Tensor>& ys, const LeafNames& names = {});

}  // namespace gradus

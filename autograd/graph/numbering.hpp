// The numbers of ops in messages and dumps: 1 for the oldest of a graph.
#pragma once

#include <string>
#include <vector>

#include "gradus/autograd/graph/node.hpp"

namespace gradus::autograd {

/// All vertices but leaves that `roots` depend on, themselves included, oldest first: number i + 1 stands at
/// i.
std::vector<const Node*> ops_below(const std::vector<const Node*>& roots);

/// "sqrt float64 (2)": op, result, dtype and shape.
std::string describe(const Node& node);
/// "%3 = sqrt float64 (2)" if it is the third of `ops`; without a number if it is none of them.
std::string describe(const Node& node, const std::vector<const Node*>& ops);

}  // namespace gradus::autograd

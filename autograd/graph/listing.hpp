// A graph in the order of the lines of graph_text(), with a name for each vertex. Internal.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gradus/autograd/graph/node.hpp"

namespace gradus::autograd {

class Listing {
 public:
  /// Throws Error if one of `ys` requires no gradient.
  Listing(const std::vector<Tensor>& ys, const LeafNames& names);

  const std::string& name(const Node* node) const { return names_.at(node); }
  bool has(const Node* node) const { return ids_.contains(node); }
  size_t id(const Node* node) const { return ids_.at(node); }  ///< its place in `nodes`

  std::vector<const Node*> leaves, ops;
  std::vector<const Node*> nodes;  ///< the leaves, then the ops

 private:
  void add_leaf(const Node* node);

  std::unordered_map<const Node*, std::string> names_;
  std::unordered_map<const Node*, size_t> ids_;
  std::unordered_set<const Node*> seen_;
};

/// A tensor at this vertex, for grad(), with the value that was kept; without elements if none was.
Tensor tensor_at(const Node& node);

}  // namespace gradus::autograd

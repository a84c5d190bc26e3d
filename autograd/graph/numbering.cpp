#include "gradus/autograd/graph/numbering.hpp"

#include <algorithm>
#include <unordered_set>

#include "gradus/autograd/graph/block.hpp"

namespace gradus::autograd {

std::vector<const Node*> ops_below(const std::vector<const Node*>& roots) {
  std::vector<const Node*> found, stack(roots);
  std::unordered_set<const Node*> seen;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (node->is_leaf() || !seen.insert(node).second) continue;
    found.push_back(node);
    for (const Edge& e : node->edges)
      if (e.to) stack.push_back(e.to.get());
  }
  std::sort(found.begin(), found.end(),
            [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
  return found;
}

std::string describe(const Node& node) {
  if (node.kind == Node::Kind::block) return concat(node.op, ", results: ", node.block->results.size());
  const std::string result = node.kind == Node::Kind::result ? concat("[", node.result, "]") : "";
  return concat(node.op, result, node.rounded ? " of bfloat16, " : " ", name(node.dtype), " ", node.shape);
}

std::string describe(const Node& node, const std::vector<const Node*>& ops) {
  const auto at = std::find(ops.begin(), ops.end(), &node);
  return at == ops.end() ? describe(node) : concat("%", at - ops.begin() + 1, " = ", describe(node));
}

}  // namespace gradus::autograd

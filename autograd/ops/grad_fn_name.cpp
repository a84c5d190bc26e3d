// Tensor::grad_fn_name(): see tensor/tensor.hpp.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "gradus/autograd/graph/node.hpp"

namespace gradus {

using autograd::Edge;
using autograd::Node;

namespace {

// PyTorch's name for the node: SoftmaxBackward0 for softmax. Some ops have another name there, some several.
std::string backward_name(const Node& node) {
  const bool matrix = node.shape.size() == 2;
  if (node.op == "matmul") return matrix ? "MmBackward0" : "UnsafeViewBackward0";
  if (node.op == "linear") {
    const bool biased = std::any_of(node.edges.begin(), node.edges.end(),
                                    [](const Edge& edge) { return edge.to->shape.size() == 1; });
    if (matrix) return biased ? "AddmmBackward0" : "MmBackward0";
    return biased ? "ViewBackward0" : "UnsafeViewBackward0";
  }
  if (node.op == "sum") return node.shape.size() == 0 ? "SumBackward0" : "SumBackward1";
  static constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"reshape", "ViewBackward0"},
      {"contiguous", "CloneBackward0"},
      {"to", "ToCopyBackward0"},
      {"layer_norm", "NativeLayerNormBackward0"},
      {"cross_entropy", "NllLossBackward0"},
      {"dropout", "MulBackward0"}};
  for (const auto& [op, name] : kOthers)
    if (node.op == op) return std::string(name);
  std::string camel;
  bool start = true;
  for (const char c : node.op) {
    if (c != '_') camel += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = c == '_';
  }
  return camel + "Backward0";
}

}  // namespace

std::string Tensor::grad_fn_name() const {
  return requires_grad() && !impl_->node->is_leaf() ? backward_name(*impl_->node) : "";
}

}  // namespace gradus

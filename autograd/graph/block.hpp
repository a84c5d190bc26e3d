// Block: a function of several results as one vertex of the graph.
//
// Each result is a vertex of its own (Node::result_of), with one edge to the block. The gradients of results
// wait in the engine until all have come; then the block is visited once, with those that came.
#pragma once

#include <functional>
#include <vector>

#include "gradus/autograd/graph/rules.hpp"
#include "gradus/autograd/graph/saved.hpp"

namespace gradus::autograd {

struct Block {
  struct Result {
    Shape shape;
    DType dtype;
    bool differentiable;
  };
  std::vector<Result> results;

  // One of two ways on:
  ManyRule rule;                 ///< the gradients of the inputs, from those of the results
  std::vector<Saved> outputs{};  ///< what the rule is handed: aliases outside the graph
  /// The results again, with the graph that made them: the engine walks it at this block's place.
  std::function<std::vector<Tensor>()> recompute{};
};

}  // namespace gradus::autograd

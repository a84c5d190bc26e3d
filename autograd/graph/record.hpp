// record(): the one door into the graph of gradients, for the library's ops and for users' own.
//
// An op computes its result outside the graph, then records one Edge for each input that gradients flow to.
// An edge says how: gx = pull(gy). Pulls are written with public ops, so that a gradient can be
// differentiated again. What a pull captures is all that backward keeps alive; tensors are captured as Saved,
// which notices when their values were changed in between. Edges to inputs that need no gradient are dropped
// at once, captures and all.
//
// The engine does what all rules have in common: sum a gradient over broadcast dimensions, check shapes, add
// up, free.
#pragma once

#include <initializer_list>
#include <vector>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/op_names.hpp"

namespace gradus {

/// Makes `out` (fresh, outside the graph) the result of `op`. Returns it.
Tensor record(OpName op, Tensor out, std::initializer_list<autograd::Edge> edges);
Tensor record(OpName op, Tensor out, std::initializer_list<Tensor> inputs, JointRule rule);
Tensor record(OpName op, Tensor out, const std::vector<Tensor>& inputs, JointRule rule);

}  // namespace gradus

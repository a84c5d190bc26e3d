// record(): the one door into the graph of gradients, for the library's ops and for your own.
//
// An op computes its result outside the graph, then records one Edge for each input that gradients flow to.
// An edge holds the rule gx = pull(gy). Rules are written with public ops, so that a gradient can be
// differentiated again. All that backward keeps alive is what a rule captures; it captures tensors as Saved,
// which notices when their values were changed in between. Edges to inputs that need no gradient are dropped
// at once, with their captures.
//
// The engine does what all rules have in common: sum a gradient over broadcast dimensions, check shapes, add
// up, free. Thread-safety: that of the tensors.
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

/// Makes `outs` (fresh, outside the graph, any shapes and dtypes) the results of `op`. Returns them. Integer
/// and bool results stay outside the graph. The rule runs once, when the gradients of all results have come.
/// Throws Error if one tensor stands for two results.
///
///     std::vector<Tensor> polar(const Tensor& x, const Tensor& y) {
///       const Tensor a = x.detach(), b = y.detach(), r = sqrt(a * a + b * b);
///       return record_many(OpName::custom("polar"), {r, a / r}, {x, y},
///                          [x = Saved(x), y = Saved(y)](auto& g, auto& out, Needs) -> std::vector<Tensor> {
///                            const Tensor cube = pow(out[0], 3.0);
///                            return {g[0] * x / out[0] + g[1] * y * y / cube,
///                                    g[0] * y / out[0] - g[1] * x * y / cube};
///                          });
///     }
std::vector<Tensor> record_many(OpName op, std::vector<Tensor> outs, const std::vector<Tensor>& inputs,
                                ManyRule rule);

}  // namespace gradus

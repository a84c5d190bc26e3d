// record_many(): the door into the graph for functions with several results, such as a value and its norm.
//
//   std::vector<Tensor> polar(const Tensor& x, const Tensor& y) {
//     const Tensor a = x.detach(), b = y.detach(), r = sqrt(a * a + b * b);
//     return record_many(OpName::custom("polar"), {r, a / r}, {x, y},
//                        [x = Saved(x), y = Saved(y)](auto& g, auto& out, Needs) -> std::vector<Tensor> {
//                          const Tensor cube = pow(out[0], 3.0);
//                          return {g[0] * x / out[0] + g[1] * y * y / cube,
//                                  g[0] * y / out[0] - g[1] * x * y / cube};
//                        });
//   }
//
// Same rules as for record(): see record.hpp. Thread-safety: that of record().
#pragma once

#include <vector>

#include "gradus/autograd/graph/record.hpp"

namespace gradus {

/// Makes `outs` (fresh, outside the graph, any shapes and dtypes) the results of `op`. Returns them. Integer
/// and bool results stay outside the graph. The rule runs once, when the gradients of all results have come.
/// Throws Error if one tensor stands for two results.
std::vector<Tensor> record_many(OpName op, std::vector<Tensor> outs, const std::vector<Tensor>& inputs,
                                ManyRule rule);

}  // namespace gradus

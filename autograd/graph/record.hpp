// record(): adds an op of the library or of a user to the graph of gradients.
//
// An op computes its result outside the graph, then records one Edge for each input that gradients flow to.
// An edge holds the rule gx = pull(gy). Rules are written with public ops, so that a gradient can be
// differentiated again. A rule captures tensors as Saved, which throws if their values have changed. Edges to
// inputs that need no gradient are dropped at once, with their captures. A rule must not write into gy, which
// other rules may read: backward then throws.
//
// Graphs are counted references, so a cycle of them is never freed. One that a gradient with a graph makes
// (backward() with create_graph) ends with the last handle of its leaf. These do not: a rule that captures
// its op's result, or a leaf as a Tensor and not as Saved, whose gradient then has a graph; a hook that
// captures its own tensor or a result of it; a Tensor member of a module or a callable that the graph keeps.
//
// The engine sums a gradient over broadcast dimensions, checks its shape, adds it up and frees the rule.
// Thread-safety: that of the tensors.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/op_names.hpp"

namespace gradus {

/// The name of a recorded op, checked while compiling.
struct OpName {
  /// A user's op; `text` must live as long as the program, as a literal does.
  static constexpr OpName custom(std::string_view text) { return OpName(text, Unchecked{}); }

  /// A name of kRecordedOps; any other does not compile.
  consteval OpName(const char* text) : name(text) {  // NOLINT: a string literal is the natural spelling
    bool known = false;
    for (const std::string_view op : kRecordedOps) known = known || op == name;
    if (!known) throw "not in kRecordedOps. Hint: an op of your own is OpName::custom(\"its name\")";
  }
  std::string_view name;  ///< as in graphs and errors

 private:
  struct Unchecked {};
  constexpr OpName(std::string_view text, Unchecked) : name(text) {}
};

/// Makes `out` the result of `op`, or an alias of it if others hold it, as when it is an input. Returns it.
Tensor record(OpName op, Tensor out, std::initializer_list<autograd::Edge> edges);
Tensor record(OpName op, Tensor out, std::initializer_list<Tensor> inputs, JointRule rule);
Tensor record(OpName op, Tensor out, const std::vector<Tensor>& inputs, JointRule rule);

/// Makes `outs` (any shapes and dtypes), in the same way, the results of `op`. Returns them. Integer and bool
/// results stay outside the graph. The rule runs once, when the gradients of all results have arrived. Throws
/// Error if two results are one tensor.
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

// jvp(): forward mode, by the definitions of this folder in dual numbers.
#include <algorithm>

#include "gradus/autograd/functional/calls.hpp"
#include "gradus/autograd/functional/functional.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/reference/replay.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {
namespace {

using autograd::Products;
using reference::Array;
using reference::Dual;
using Numbers = Array<Dual<double>>;

// The inputs, each on memory of its own: tangents belong to memory.
std::vector<Tensor> apart(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> all;
  for (const Tensor& x : inputs) {
    const bool is_shared = x.defined() && std::any_of(all.begin(), all.end(), [&](const Tensor& other) {
                             return other.defined() && other.impl()->storage == x.impl()->storage;
                           });
    all.push_back(is_shared ? raw::clone(x) : x);
  }
  return all;
}

// Follows the calls as gradients do: what is detached, or computed without a graph, is constant.
class Forward {
 public:
  Forward(const std::vector<Tensor>& inputs, const std::vector<Tensor>& v) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      Numbers x = reference::array_of<Dual<double>>(inputs[i]);
      const Array<double> t = reference::array_of<double>(v[i]);
      for (int64_t j = 0; j < x.size(); ++j) x[j].tangent = t[j];
      tangents_.set(inputs[i], std::move(x));
      leaves_.push_back(inputs[i].impl()->node.get());
    }
  }

  // Whether the definitions know all that the call needs.
  bool run(autograd::TracedCall call) {
    bool is_linked = false;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (!call.linked[i]) {
        if (call.inputs[i].defined()) call.inputs[i] = constant(call.inputs[i]);
        continue;
      }
      const autograd::Node* const node = call.inputs[i].impl()->node.get();
      const bool is_given = std::find(leaves_.begin(), leaves_.end(), node) != leaves_.end();
      if (node->is_leaf() && !is_given)
        call.inputs[i] = constant(call.inputs[i]);
      else if (!tangents_.has(call.inputs[i]))
        return false;
      else
        is_linked = true;
    }
    if (!is_linked) return true;
    return reference::find<double>(call.op) != nullptr && tangents_.run(call);
  }

  // The tangent of a result; undefined if the calls do not lead to it.
  Tensor of(const Tensor& y) const {
    const bool is_constant = !y.requires_grad();
    if (!is_constant && !tangents_.has(y)) return {};
    Tensor t = raw::full(y.shape(), 0.0, DType::float64);
    if (!is_constant) {
      const Numbers numbers = tangents_.get(y);
      for (int64_t j = 0; j < numbers.size(); ++j) t.mutable_data<double>()[j] = numbers[j].tangent;
    }
    return raw::converted(t, y.dtype());
  }

 private:
  // The same values on other memory, which has no tangents.
  Tensor constant(const Tensor& x) const { return tangents_.has(x) ? raw::clone(x) : x; }

  reference::Replay<Dual<double>> tangents_;
  std::vector<const autograd::Node*> leaves_;
};

// J v, one for each output; none if it needs the rules.
std::vector<Tensor> pushed(const autograd::Trace& trace, const derivatives::Call& c,
                           const std::vector<Tensor>& v) {
  Forward forward(c.inputs, v);
  for (const autograd::TracedCall& call : trace.calls)
    if (!forward.run(call)) return {};
  std::vector<Tensor> product;
  for (const Tensor& y : c.outputs) {
    product.push_back(forward.of(y));
    if (!product.back().defined()) return {};
  }
  return product;
}

}  // namespace

Products jvp(const ListFunction& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& v,
             const DerivativeOptions& options) {
  derivatives::check_vectors("jvp", v, inputs);
  const GradMode on(true);
  const bool by_rules = options.create_graph || options.strict;
  autograd::Trace trace;
  derivatives::Call c;
  {
    const autograd::Tracing tracing(by_rules ? nullptr : &trace);
    c = derivatives::call("jvp", f, by_rules ? inputs : apart(inputs), options.create_graph);
  }
  std::vector<Tensor> product;
  if (!by_rules) product = pushed(trace, c, v);
  if (product.empty()) return derivatives::pushed_by_rules(c, v, options);
  return derivatives::finish(c, std::move(product), options);
}

autograd::Product jvp(const TensorFunction& f, const Tensor& x, const Tensor& v,
                      const DerivativeOptions& options) {
  const Products p =
      jvp([&](const std::vector<Tensor>& xs) { return std::vector<Tensor>{f(xs[0])}; }, {x}, {v}, options);
  return {p.outputs[0], p.products[0]};
}

}  // namespace gradus

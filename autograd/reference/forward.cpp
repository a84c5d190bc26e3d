#include "gradus/autograd/reference/forward.hpp"

#include <algorithm>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/reference/replay.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::reference {
namespace {

using Tangents = Replay<Dual<double>>;

// The same values on other memory, which has no tangents.
Tensor constant(const Tangents& tangents, const Tensor& x) {
  return x.defined() && tangents.has(x) ? raw::clone(x) : x;
}

// Whether the definitions know all that the call needs.
bool run(Tangents& tangents, autograd::TracedCall call, const std::vector<Tensor>& inputs) {
  bool is_linked = false;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    Tensor& x = call.inputs[i];
    const auto is_same = [&](const Tensor& given) { return given.impl()->node == x.impl()->node; };
    const bool is_known = call.linked[i] && std::any_of(inputs.begin(), inputs.end(), is_same);
    if (!call.linked[i] || (x.impl()->node->is_leaf() && !is_known))
      x = constant(tangents, x);
    else if (!tangents.has(x))
      return false;
    else
      is_linked = true;
  }
  return !is_linked || (find<Dual<double>>(call.op) && tangents.run(call));
}

}  // namespace

std::vector<Tensor> forward(const autograd::Trace& trace, const std::vector<Tensor>& inputs,
                            const std::vector<Tensor>& v, const std::vector<Tensor>& outputs) {
  Tangents tangents;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Array<Dual<double>> x = array_of<Dual<double>>(inputs[i]);
    const Array<double> t = array_of<double>(v[i]);
    for (int64_t j = 0; j < x.size(); ++j) x[j].tangent = t[j];
    tangents.set(inputs[i], std::move(x));
  }
  for (const autograd::TracedCall& call : trace.calls)
    if (!run(tangents, call, inputs)) return {};
  std::vector<Tensor> all;
  for (const Tensor& y : outputs) {
    Tensor t = raw::full(y.shape(), 0.0, DType::float64);
    if (y.requires_grad()) {
      if (!tangents.has(y)) return {};
      const Array<Dual<double>> numbers = tangents.get(y);
      for (int64_t j = 0; j < numbers.size(); ++j) t.mutable_data<double>()[j] = numbers[j].tangent;
    }
    all.push_back(raw::converted(t, y.dtype()));
  }
  return all;
}

}  // namespace gradus::reference

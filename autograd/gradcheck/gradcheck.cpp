#include "gradus/autograd/gradcheck/gradcheck.hpp"

#include <utility>

#include "gradus/autograd/gradcheck/check.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/files/error.hpp"

namespace gradus {
namespace {

using gradchecking::Check;
using gradchecking::Function;
using gradchecking::gradients;

std::vector<Tensor> choose(const std::vector<Tensor>& tensors, const std::vector<size_t>& which) {
  std::vector<Tensor> chosen;
  for (const size_t i : which) chosen.push_back(tensors[i]);
  return chosen;
}

// (inputs..., cotangents...) -> gradients of f. Recorded if an argument requires a gradient; plain numbers
// come from the fast path without create_graph, so that each path is measured against the other.
Function gradient_of(const Function& f, size_t input_count, const std::vector<size_t>& checked) {
  return [=](const std::vector<Tensor>& arguments) {
    const auto middle = arguments.begin() + static_cast<std::ptrdiff_t>(input_count);
    std::vector<Tensor> inputs(arguments.begin(), middle);
    bool recorded = false;
    for (const Tensor& a : arguments) recorded = recorded || a.requires_grad();
    for (const size_t i : checked)
      if (!inputs[i].requires_grad()) inputs[i] = inputs[i].detach().requires_grad_();
    return gradients(f(inputs), choose(inputs, checked), {middle, arguments.end()}, recorded);
  };
}

std::vector<size_t> inputs_to_check(const std::vector<Tensor>& inputs) {
  std::vector<size_t> asked, floating;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x.defined()) fail("gradcheck", "needs defined inputs, input ", i, " is not.");
    if (x.dtype() == DType::float32)
      fail("gradcheck", "needs float64 inputs, input ", i,
           " is float32. Hint: convert it with to(DType::float64).");
    if (x.requires_grad()) asked.push_back(i);
    if (is_floating(x.dtype())) floating.push_back(i);
  }
  if (floating.empty())
    fail("gradcheck", "needs a float64 input to check, got none among ", inputs.size(), ".");
  return asked.empty() ? floating : asked;
}

}  // namespace

GradcheckReport gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  if (options.order != 1 && options.order != 2)
    fail("gradcheck", "order must be 1 or 2, got ", options.order, ".");
  if (!(options.eps > 0) || !(options.tolerance > 0) || options.directions < 1)
    fail("gradcheck", "needs eps, tolerance and directions above 0, got ", options.eps, ", ",
         options.tolerance, " and ", options.directions, ".");
  const std::vector<size_t> checked = inputs_to_check(inputs);
  const GradMode recording(true);
  const Function first = [&](const std::vector<Tensor>& x) {
    Tensor y = f(x);
    if (!y.defined() || y.dtype() != DType::float64)
      fail("gradcheck", "needs a float64 result, got ", y.defined() ? name(y.dtype()) : "none", ".");
    return std::vector<Tensor>{std::move(y)};
  };

  std::vector<Tensor> arguments;
  for (const Tensor& x : inputs) arguments.push_back(x.detach());
  first(arguments);  // errors of f itself are the caller's

  GradcheckReport report;
  Check check(options, report);
  try {
    check.run(1, first, arguments, checked);
    if (options.order == 2) {
      std::vector<size_t> all = checked;
      for (const Tensor& v : check.cotangents()) {
        all.push_back(arguments.size());
        arguments.push_back(v);
      }
      check.run(2, gradient_of(first, inputs.size(), checked), arguments, all);
    }
  } catch (const Error& e) {
    check.require(false, e.what());
  }
  report.passed = report.checks > 0 && report.worst <= 1;
  return report;
}

}  // namespace gradus

// Every recorded operation gives the values of its definition in plain loops.
#include <map>

#include "autograd/case_checks.hpp"
#include "catch.hpp"
#include "gradus/autograd/reference/replay.hpp"

namespace gradus::test_reference {

using namespace gradus::testing;

// The largest difference from the definition, over 1 + the largest size of the terms; infinite for another
// shape.
double error_of_call(const autograd::TracedCall& call) {
  const reference::Array<double> right = reference::value_again(call),
                                 got = reference::array_of<double>(call.outputs[0]);
  if (!right.defined || right.shape != got.shape) return INFINITY;
  double largest = 1, worst = 0;
  for (const Tensor& x : call.inputs)
    if (x.defined())
      for (const double v : reference::array_of<double>(x).data)
        if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (int64_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == right[i] || (std::isnan(got[i]) && std::isnan(right[i]));
    if (!same) worst = std::max(worst, std::abs(got[i] - right[i]) / std::max(largest, std::abs(right[i])));
    if (!same && std::isnan(worst)) return INFINITY;
    if (!same && !(std::abs(got[i] - right[i]) < INFINITY)) return INFINITY;
  }
  return worst;
}

// Rounding, of an x in 8 bits beside a weight in 8 bits, of float32, or of float64.
double tolerance_of(const autograd::TracedCall& call) {
  for (const autograd::Attribute& a : call.attributes)
    if (const Tensor* t = std::get_if<Tensor>(&a); t && t->defined() && is_in_tiles(t->dtype())) return 1e-2;
  return call.outputs[0].dtype() == DType::float64 ? 1e-13 : 1e-5;
}

// Runs the cases in that dtype, and compares every call that they record.
std::map<std::string, int> compare_all(DType dtype) {
  std::map<std::string, int> compared;
  for (const GradcheckCase& c : gradcheck_cases()) {
    std::vector<Tensor> inputs;
    for (const Tensor& x : c.inputs) inputs.push_back(is_floating(x.dtype()) ? x.to(dtype) : x);
    autograd::Trace trace;
    try {
      const autograd::Tracing on(&trace);
      c.f(inputs);
    } catch (const Error&) {
      if (dtype == DType::float64) throw;  // a case may hold float64 constants
    }
    for (const autograd::TracedCall& call : trace.calls) {
      if (!is_floating(call.outputs[0].dtype())) continue;
      INFO(c.op << ": " << c.name << ": " << call.op << " " << call.outputs[0].shape());
      CHECK(error_of_call(call) <= tolerance_of(call));
      ++compared[std::string(call.op)];
    }
  }
  return compared;
}

TEST_CASE("values agree with the definitions") {
  std::map<std::string, int> compared = compare_all(DType::float64);
  for (const auto& [op, n] : compare_all(DType::float32)) compared[op] += n;
  for (const std::string_view op : kRecordedOps) {
    INFO(op << " has " << compared[std::string(op)] << " comparisons");
    CHECK(reference::find<double>(op) != nullptr);
  }
}

}  // namespace gradus::test_reference

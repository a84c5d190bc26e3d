// Every recorded operation gives the values of its definition in plain loops.
#include "autograd/by_definition.hpp"
#include "autograd/case_leaves.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"

namespace gradus::test_reference {

using namespace gradus::testing;

// Runs the cases in that dtype, and compares every call that they record. Returns the names of the calls.
std::set<std::string> compare_all(DType dtype) {
  std::set<std::string> compared;
  for (const GradcheckCase& c : gradcheck_cases()) {
    const std::vector<Tensor> inputs = inputs_in(c, dtype);
    const auto calls = calls_of([&] {
      const std::string error = error_of([&] { c.f(inputs); });
      CHECK((error.empty() || dtype == DType::float32));  // a case may hold float64 constants
    });
    for (const autograd::TracedCall& call : calls) {
      if (!is_floating(call.outputs[0].dtype())) continue;
      INFO(c.op << ": " << c.name << ": " << call.op << " " << call.outputs[0].shape());
      CHECK(error_of_call(call) <= tolerance_of(call));
      compared.emplace(call.op);
    }
  }
  return compared;
}

TEST_CASE("every recorded operation has a definition, which gives its values") {
  std::set<std::string> compared = compare_all(DType::float64);
  compared.merge(compare_all(DType::float32));
  for (const std::string_view op : kRecordedOps) {
    INFO(op);
    CHECK(static_cast<bool>(reference::find<double>(op)));
    // Two round to bfloat16: see test_ops_activated_linear.cpp. The annex fast has attention as one.
    const bool is_composed = op == "scaled_dot_product_attention" && !kernels::fast_kernels().attention;
    CHECK(
        (compared.contains(std::string(op)) || op == "gelu_linear" || op == "swiglu_linear" || is_composed));
  }
}

TEST_CASE("a wrong value is seen") {
  autograd::TracedCall call = calls_of([] { exp(f64({1, 2})); })[0];
  CHECK(error_of_call(call) < 1e-15);
  call.outputs[0] = call.outputs[0] * 1.001;
  CHECK(error_of_call(call) > 1e-4);
}

}  // namespace gradus::test_reference

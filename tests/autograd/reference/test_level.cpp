// At level `reference` operations have the values of their definitions, and gradients are made of operations.
#include "autograd/by_definition.hpp"
#include "autograd/case_leaves.hpp"
#include "autograd/kernels/vectors.hpp"

namespace gradus::test_level {

using namespace gradus::testing;

// The largest error of the operations that the cases of the checker are for, in that dtype; some of them
// compute their values by others, and write their definition's over those.
double largest_error(DType dtype) {
  double largest = 0;
  for (const GradcheckCase& c : gradcheck_cases()) {
    const std::vector<Tensor> inputs = inputs_in(c, dtype);
    const auto run = [&] { error_of([&] { c.f(inputs); }); };  // a case may hold float64 constants
    for (const autograd::TracedCall& call : calls_of(run))
      if (call.op == c.op && call.outputs[0].dtype() == dtype)
        largest = std::max(largest, error_of_call(call));
  }
  return largest;
}

TEST_CASE("values are those of the definitions, rounded once") {
  const vectors::AtLevel fast(kernels::isa_name(kernels::available_isas().front()));
  CHECK(largest_error(DType::float64) > 1e-17);
  const vectors::AtLevel reference("reference");
  CHECK(largest_error(DType::float64) == 0);
  CHECK(largest_error(DType::float32) <= 0x1p-24);
}

TEST_CASE("gradients have the bits of those that can be differentiated again, and are near the fast ones") {
  for (const GradcheckCase& c : gradcheck_cases()) {
    INFO(c.op << ": " << c.name);
    const std::vector<Tensor> leaves = leaves_of(c.inputs);
    const auto gradients = [&](std::string_view level, bool create_graph) {
      const vectors::AtLevel at(level);
      return gradients_of_sum(c.f(leaves), leaves, create_graph);
    };
    const auto plain = gradients("reference", false), again = gradients("reference", true),
               fast = gradients(kernels::isa_name(kernels::isa_in_use()), false);
    for (size_t i = 0; i < plain.size(); ++i) {
      CHECK(difference(plain[i], again[i], 0) == "");
      CHECK((!plain[i].defined() || !plain[i].requires_grad()));
      CHECK(difference(plain[i], fast[i], 1e-5) == "");
    }
  }
}

TEST_CASE("a view stays a view") {
  const vectors::AtLevel reference("reference");
  Tensor x = f64({1, 2, 3, 4}, {2, 2});
  const Tensor row = x.select(0, 1);
  x.fill_(7);
  CHECK(sum(row).item() == 14);
}

}  // namespace gradus::test_level

// Every op's gradient is right at orders 1 and 2, and no op is without a check.
#include "autograd/case_checks.hpp"

namespace gradus::test_gradcheck_cases {

using namespace gradus::testing;

TEST_CASE("every op has cases at orders 1 and 2") {
  CHECK(library_ops().size() == kRecordedOps.size() + kComposedOps.size());
  check_covered(gradcheck_cases(), library_ops());
}

TEST_CASE("names of cases are unique, their numbers the same each time") {
  check_same(gradcheck_cases(), gradcheck_cases());
}

TEST_CASE("all cases pass") { CHECK(check_pass(gradcheck_cases()) > 10000); }

TEST_CASE("Taylor remainders of the sine of each op fall by four") {
  std::set<std::string> seen;
  for (const GradcheckCase& c : gradcheck_cases()) {
    if (seen.contains(c.op)) continue;
    const auto sine = [&](const std::vector<Tensor>& in) { return sin(c.f(in).to(DType::float64)); };
    const double rate = gradcheck(sine, c.inputs, {.directions = 1, .elementwise = 0}).rate;
    INFO(c.op << ": " << c.name);
    CHECK((rate == 0 || std::abs(rate - 4) < 0.2));
    if (rate > 0) seen.insert(c.op);
  }
  CHECK(seen.size() == kRecordedOps.size() + kComposedOps.size());
}

}  // namespace gradus::test_gradcheck_cases

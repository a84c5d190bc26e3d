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

}  // namespace gradus::test_gradcheck_cases

// The gradients of the operations on windows are right at orders 1 and 2, and each check finds faults.
#include "autograd/case_checks.hpp"
#include "autograd/planted_gradients.hpp"
#include "gradus/annexes/layers/cases/window_cases.hpp"

namespace gradus::test_window_cases {

using namespace gradus::testing;
using cases::window_cases;

const std::set<std::string> kOps = {"unfold",     "fold",       "conv1d",     "conv2d",     "max_pool1d",
                                    "max_pool2d", "avg_pool1d", "avg_pool2d", "batch_norm", "group_norm"};

TEST_CASE("every operation on windows has cases, and all pass") {
  check_covered(window_cases(), kOps);
  check_same(window_cases(), window_cases());
  CHECK(check_pass(window_cases()) > 1000);
}

TEST_CASE("graphs of windows are freed, notice overwritten inputs, and are no anomaly") {
  check_freed(window_cases());
  check_overwriting(window_cases());
  check_no_anomaly(window_cases());
}

TEST_CASE("every operation on windows names itself when one of its tensors is undefined") {
  check_undefined(window_cases(), {});
}

TEST_CASE("wrong gradients of windows are caught for every operation") {
  plant_gradients(window_cases(), kOps, false);
  plant_second_derivatives(window_cases(), kOps, false);
}
TEST_CASE("wrong gradients of windows are caught in every case of an operation", "[soak]") {
  plant_gradients(window_cases(), kOps, true);
  plant_second_derivatives(window_cases(), kOps, true);
}

}  // namespace gradus::test_window_cases

// The suite is checked: a wrong gradient planted into any op's case is caught.
#include "autograd/planted_gradients.hpp"

namespace gradus::test_mutations {

using namespace gradus::testing;

TEST_CASE("wrong gradients are caught for every op") {
  plant_gradients(gradcheck_cases(), library_ops(), false);
}
TEST_CASE("wrong gradients are caught in every case of an op", "[soak]") {
  plant_gradients(gradcheck_cases(), library_ops(), true);
}
TEST_CASE("wrong second derivatives are caught for every op") {
  plant_second_derivatives(gradcheck_cases(), library_ops(), false);
}
TEST_CASE("wrong second derivatives are caught in every case of an op", "[soak]") {
  plant_second_derivatives(gradcheck_cases(), library_ops(), true);
}

}  // namespace gradus::test_mutations

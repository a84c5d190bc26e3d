// The cases on which every op's gradient is checked, by the test suite and by `gradus gradcheck`.
//
// They live beside the ops: an op without a case fails the suite.
#pragma once

#include <vector>

#include "gradus/autograd/gradcheck/cases/gradcheck_case.hpp"

namespace gradus {

/// All cases, freshly made: the same numbers each time.
std::vector<GradcheckCase> gradcheck_cases();

}  // namespace gradus

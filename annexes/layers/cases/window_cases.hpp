// The cases on which the tests and `gradus gradcheck` check the operations of windows.hpp.
#pragma once

#include <vector>

#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"

namespace gradus::cases {

/// Makes all of them, with the same numbers each time.
std::vector<GradcheckCase> window_cases();

}  // namespace gradus::cases

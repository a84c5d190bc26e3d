// The dot-product test of gradcheck(): <v, J u> in forward mode and <J^T v, u> by the rules must agree
// without a step or a difference. Internal.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "gradus/autograd/gradcheck/function.hpp"
#include "gradus/autograd/gradcheck/witness.hpp"

namespace gradus::gradchecking {

/// Both sides of the test.
struct DotProducts {
  double forward = 0, rules = 0;
  double size = 0;  ///< of all terms

  /// The relative gap; infinite if the rules alone give no number.
  double gap() const {
    if (!std::isfinite(rules) && std::isfinite(forward)) return std::numeric_limits<double>::infinity();
    return forward == rules ? 0 : std::abs(forward - rules) / size;
  }
};

/// The sides for directions u, one for each checked input or empty for 0, and the outputs' cotangent v, whose
/// gradients by the rules are g.
DotProducts dot_products(const Witness& witness, const Subject& subject, const std::vector<Numbers>& u,
                         const Numbers& v, const std::vector<Tensor>& g);

/// Whether the gap may be what rounding leaves, in the rule s (1 - s) for a sigmoid near 1 or in a derivative
/// that cancels to 0: it has another sign and size at other inputs nearby, and is no larger than the rounding
/// of the largest intermediate result or 64 times what moving the inputs by a unit of rounding changes.
bool is_rounding(const DotProducts& here, const Witness& witness, const Subject& subject,
                 const std::vector<Numbers>& u, const Numbers& v);

}  // namespace gradus::gradchecking

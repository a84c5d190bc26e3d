// Operations of a test's own, with the rule that the test is about.
#pragma once

#include "autograd/compare.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::testing {

inline const Tensor kX = f64({0.3, -1.2, 2.0, 0.7, -0.4, 1.1}, {2, 3});

using In = const Tensor&;
using Rule = std::function<Tensor(In x, In gy)>;

inline Tensor square(In x) { return x * x; }

/// values(x) as an op with this rule.
inline Tensor own_op(In x, const std::function<Tensor(In)>& values, const Rule& rule) {
  return record(OpName::custom("mine"), values(x.detach()),
                {{x, [rule, x = Saved(x)](In gy) { return rule(x, gy); }}});
}
/// The same as a function of one input.
inline GradcheckFunction with_rule(std::function<Tensor(In)> values, Rule rule) {
  return [=](const std::vector<Tensor>& in) { return own_op(in[0], values, rule); };
}

}  // namespace gradus::testing
